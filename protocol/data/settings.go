package data

import "contend/setting"

// Settings say which rows fill the placeholders of requests.
type Settings struct {
	Rows     string `file:"rows" words:"CSV or JSONL *file* whose rows fill {{column}} in the URL, headers and body of HTTP requests"`
	RowOrder Order  `file:"row_order" default:"sequential" words:"*order* of the rows: sequential, per-vu or random"`
}

// Check returns what does not go together.
func (s *Settings) Check() error {
	if s.RowOrder != Sequential && s.Rows == "" {
		return setting.At(s, &s.RowOrder).Wrong("is %v, which needs rows", s.RowOrder)
	}
	return nil
}

// Read returns the rows, nil for none.
func (s *Settings) Read() (*Rows, error) {
	if s.Rows == "" {
		return nil, nil
	}
	rows, err := ReadRows(s.Rows)
	return rows, setting.At(s, &s.Rows).About(err)
}
