package etcd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"

	v1 "plimsoll.dev/plimsoll/api/v1alpha1"
)

const (
	// zipfExponent is how much more often than its successors a key is drawn: the chance of key i
	// falls with (i+1) to this power. YCSB's 0.99 is out of reach of the generator, which needs more than 1.
	zipfExponent = 1.01
	// distinctValues is how many values there are.
	distinctValues = 4
)

// keySpace is a number of keys and the order that they are used in.
type keySpace struct {
	prefix string
	size   int // of a key behind the prefix
	count  int
	order  string
	once   []int32 // a random order of all keys, for deletes
}

func newKeySpace(prefix string, spec v1.EtcdKeys, seed uint64) (*keySpace, error) {
	k := &keySpace{prefix: prefix, size: int(spec.KeySize), count: spec.KeySpace, order: spec.Order}
	if digits := len(strconv.Itoa(k.count - 1)); digits > k.size {
		return nil, fmt.Errorf("%d keys have numbers of %d digits, which is more than the %d bytes of a key", k.count, digits, k.size)
	}
	if spec.Order == "uniform" {
		random := rand.New(rand.NewPCG(seed, 0))
		k.once = make([]int32, 0, k.count)
		for _, i := range random.Perm(k.count) {
			k.once = append(k.once, int32(i))
		}
	}
	return k, nil
}

// key gives key i: its number, behind zeros.
func (k *keySpace) key(i int) []byte {
	key := make([]byte, len(k.prefix)+k.size)
	n := copy(key, k.prefix)
	for at := len(key) - 1; at >= n; at-- {
		key[at] = byte('0' + i%10)
		i /= 10
	}
	return key
}

// drawer gives what tells a client its next key. Sequential keys go to all
// clients in turn, and begin anew when there are no more.
func (k *keySpace) drawer(random *rand.Rand, next *atomic.Int64) func() (int, bool) {
	switch k.order {
	case "uniform":
		return func() (int, bool) { return random.IntN(k.count), true }
	case "zipfian":
		zipf := rand.NewZipf(random, zipfExponent, 1, uint64(k.count-1))
		return func() (int, bool) { return int(zipf.Uint64()), true }
	}
	return func() (int, bool) { return int((next.Add(1) - 1) % int64(k.count)), true }
}

// each gives every key once, to all clients together; false when none is left.
func (k *keySpace) each(next *atomic.Int64) (int, bool) {
	i := next.Add(1) - 1
	if i >= int64(k.count) {
		return 0, false
	}
	if k.once != nil {
		return int(k.once[i]), true
	}
	return int(i), true
}

// valuesOf gives values of the size.
func valuesOf(size int) [][]byte {
	var all [][]byte
	for i := range distinctValues {
		all = append(all, bytes.Repeat([]byte{byte('a' + i)}, size))
	}
	return all
}

// end is the first key behind all that begin with the prefix; of an empty one, it is behind all keys.
func end(prefix string) []byte {
	last := []byte(prefix)
	for i := len(last) - 1; i >= 0; i-- {
		if last[i] < 0xff {
			last[i]++
			return last[:i+1]
		}
	}
	return []byte{0}
}
