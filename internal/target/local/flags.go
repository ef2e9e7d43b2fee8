package local

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"plimsoll.dev/plimsoll/api/v1alpha1"
)

// flag is one command-line flag without its dashes.
type flag struct{ name, value string }

// flags are in the order in which they are given.
type flags []flag

func (fs flags) args() []string {
	args := make([]string, len(fs))
	for i, f := range fs {
		args[i] = "--" + f.name + "=" + f.value
	}
	return args
}

// with lays a document's flags over these: a value replaces or, sorted by
// name, adds; null removes.
func (fs flags) with(document v1alpha1.Flags) (flags, error) {
	result := slices.Clone(fs)
	for _, name := range slices.Sorted(maps.Keys(document)) {
		at := slices.IndexFunc(result, func(f flag) bool { return f.name == name })
		if document[name] == nil {
			if at >= 0 {
				result = slices.Delete(result, at, at+1)
			}
			continue
		}
		value, err := flagValue(document[name])
		if err != nil {
			return nil, fmt.Errorf("flag %s: %w", name, err)
		}
		if at >= 0 {
			result[at].value = value
		} else {
			result = append(result, flag{name, value})
		}
	}
	return result, nil
}

// flagValue writes a scalar as a user would: 1000000, and not 1e+06.
func flagValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("%v is neither a text, a number, true, false nor null", v)
}
