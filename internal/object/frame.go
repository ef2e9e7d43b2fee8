package object

import (
	"bytes"
	"slices"
	"strconv"
	"text/template/parse"
)

// frame is the JSON of all objects of a template that differ by plain text
// only: pieces that are the same in all, and holes between them.
type frame []piece

// piece is a text, and the hole after it.
type piece struct {
	text []byte
	hole hole
}

type hole int

const (
	end hole = iota
	nameHole
	namespaceHole
	indexHole
	nodeHole
)

// What stands in the holes while a frame is made. Should a template hold such a
// text, the frame is found to be wrong and is not used.
const (
	nameMark      = "plimsoll-mark-of-the-name-5e1f"
	namespaceMark = "plimsoll-mark-of-the-namespace-5e1f"
	nodeMark      = "plimsoll-mark-of-the-node-5e1f"
	indexMark     = 7305318246019
)

// plainText says whether a template consists of text and bare fields, without
// any condition, loop or function; and whether it shows the index, or what goes by it.
func plainText(list *parse.ListNode) (plain, indexed bool) {
	for _, node := range list.Nodes {
		action, isAction := node.(*parse.ActionNode)
		_, isText := node.(*parse.TextNode)
		if !isAction && !isText {
			return false, false
		}
		if isText {
			continue
		}
		pipe := action.Pipe
		if len(pipe.Decl) > 0 || len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
			return false, false
		}
		field, ok := pipe.Cmds[0].Args[0].(*parse.FieldNode)
		if !ok {
			return false, false
		}
		indexed = indexed || slices.Equal(field.Ident, []string{"Index"}) || slices.Equal(field.Ident, []string{"Node"})
	}
	return true, indexed
}

// newFrame gives the frame of the objects, or nil if it gives others than the
// template does: YAML may read 08 as a text, and 07 as a number.
func (t *Template) newFrame() frame {
	whole, err := t.slowJSON(indexMark, nameMark, namespaceMark)
	if err != nil {
		return nil
	}
	f := cut(whole)
	for _, i := range []int{0, 1, 2, 7, 8, 9, 10, 12, 64, 99, 100, 1000, 123456, 1_000_000, 12_345_678} {
		name, namespace := t.Name(i), t.spread(i)
		slow, err := t.slowJSON(i, name, namespace)
		if err != nil || !bytes.Equal(slow, f.fill(i, name, namespace, t.node(i))) {
			return nil
		}
	}
	return f
}

// cut splits a text at its marks.
func cut(whole []byte) frame {
	var f frame
	for {
		first, next := len(whole), piece{text: whole}
		length := 0
		for h, mark := range map[hole]string{nameHole: nameMark, namespaceHole: namespaceMark, nodeHole: nodeMark, indexHole: strconv.Itoa(indexMark)} {
			if at := bytes.Index(whole, []byte(mark)); at >= 0 && at < first {
				first, length = at, len(mark)
				next = piece{whole[:at], h}
			}
		}
		f = append(f, next)
		if next.hole == end {
			return f
		}
		whole = whole[first+length:]
	}
}

// fill gives the JSON of an object. Names, namespaces and nodes hold nothing that
// JSON would escape.
func (f frame) fill(i int, name, namespace, node string) []byte {
	size := 0
	for _, p := range f {
		size += len(p.text) + max(len(name), len(namespace), len(node), len("-9223372036854775808"))
	}
	whole := make([]byte, 0, size)
	for _, p := range f {
		whole = append(whole, p.text...)
		switch p.hole {
		case nameHole:
			whole = append(whole, name...)
		case namespaceHole:
			whole = append(whole, namespace...)
		case nodeHole:
			whole = append(whole, node...)
		case indexHole:
			whole = strconv.AppendInt(whole, int64(i), 10)
		}
	}
	return whole
}
