package files

// ColumnsOf returns the names of the columns of the first file, or of its arrays, in their order: what Options can
// name. It reads no more than the header of a table.
func ColumnsOf(paths []string) ([]string, error) {
	inputs, err := expand(paths)
	if err != nil || len(inputs) == 0 {
		return nil, err
	}
	in, closing, err := openTable(inputs[0].path)
	if err != nil {
		return nil, err
	}
	defer closing()
	if in == nil {
		o := Options{seen: &names{known: map[string]bool{}}}
		left := o.limit()
		if _, err := readFile(inputs[0].path, o, &left); len(o.seen.order) == 0 {
			return nil, err
		}
		return o.seen.order, nil // whether the arrays are those of the convention is not asked
	}
	header, err := in.next()
	if err != nil {
		return nil, err
	}
	list := make([]string, len(header))
	for i, cell := range header {
		list[i] = columnName(cell, i)
	}
	return list, nil
}
