package protocol

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"strings"

	"contend/internal/secret"
	"contend/protocol/wire"
	"contend/setting"
)

// learn adds the secrets of a target to the book: those in its settings, its credentials, and those
// at the beginning of the files that it names.
func (t Target) learn(around wire.Surroundings) {
	for name, value := range t {
		for _, text := range value.Texts {
			switch name {
			case "basic_auth", "bearer":
				learnPlace(text, around)
			case "data_file", "requests", "rows", "script":
				learnFile(text, around)
			case "script_env":
				around.Secrets.LearnPair(text)
				around.Secrets.Learn(text)
			default:
				around.Secrets.Learn(text)
			}
		}
		for _, item := range value.Items {
			Target(setting.Values(item)).learn(around)
		}
	}
}

// learnPlace learns the secret at a place. Whoever uses it reports what is wrong with it.
func learnPlace(place string, around wire.Surroundings) {
	text, err := wire.ReadSecret("", place, around.Env)
	if err != nil {
		return
	}
	around.Secrets.Add("token", text)
	around.Secrets.Add("authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)))
}

// mostLearned is how many bytes of a file are searched.
const mostLearned = 1 << 20

func learnFile(path string, around wire.Surroundings) {
	file, err := os.Open(path)
	if err != nil {
		return // whoever uses it reports that
	}
	defer file.Close()
	content, _ := io.ReadAll(io.LimitReader(file, mostLearned))
	if !strings.EqualFold(filepath.Ext(path), ".csv") {
		around.Secrets.Learn(string(content))
		return
	}
	rows := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(content, []byte("\ufeff"))))
	names, err := rows.Read()
	for err == nil {
		var row []string
		row, err = rows.Read() // the end, or a mistake, which whoever uses it reports
		for i, value := range row[:min(len(row), len(names))] {
			if secret.Named(names[i]) {
				around.Secrets.Add(names[i], value)
			}
		}
	}
}
