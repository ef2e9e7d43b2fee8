package kube

import (
	"fmt"
	"math/rand/v2"

	"plimsoll.dev/plimsoll/internal/workload"
)

// mix is a client that chooses each operation at random.
type mix struct {
	random  *rand.Rand
	weights []int // 0 for one that has nothing left to do
	clients []workload.Client
}

// dialMix gives a client made of one for each kind of operation.
func (k *kube) dialMix(name string, index int, random *rand.Rand) (workload.Client, error) {
	m := &mix{random: random}
	for i, part := range k.mixed {
		c, err := part.dial(fmt.Sprintf("%sm%d", name, i), index, random)
		if err != nil {
			return nil, err
		}
		m.clients = append(m.clients, c)
		m.weights = append(m.weights, k.Operation.Mix[i].Weight)
	}
	return m, nil
}

// Next gives an operation of one of the clients. One that has nothing left to
// do is chosen no more.
func (m *mix) Next() (workload.Op, bool) {
	for {
		total := 0
		for _, weight := range m.weights {
			total += weight
		}
		if total == 0 {
			return workload.Op{}, false
		}
		chosen, drawn := 0, m.random.IntN(total)
		for drawn >= m.weights[chosen] {
			drawn -= m.weights[chosen]
			chosen++
		}
		if op, ok := m.clients[chosen].Next(); ok {
			return op, true
		}
		m.weights[chosen] = 0
	}
}
