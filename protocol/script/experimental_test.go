package script

import (
	"fmt"
	"strings"
	"testing"

	"contend/internal/secret"
	"contend/internal/testenv"
	"contend/protocol/wire"
)

// What expressions of k6/experimental/fs and csv come to, as in k6. f is a file that was opened.
func TestFilesOfScripts(t *testing.T) {
	const data = "name,age\nann,3\nbob,4\n"
	for _, c := range []expression{
		{`JSON.stringify(await f.stat())`, `{"name":"data.csv","size":21}`},
		{`(async () => { const b = new Uint8Array(4); return [await f.read(b), b[0], await f.seek(19, fs.SeekMode.Start), await f.read(b), await f.read(b)]; })()`, "4,110,19,2,"},
		{`(async () => { await f.seek(2, fs.SeekMode.Start); return [await f.seek(1, fs.SeekMode.Current), await f.seek(-1, fs.SeekMode.End)]; })()`, "3,19"},
		{`f.seek(99, fs.SeekMode.Start)`, "!expected a place within the 21 bytes"},
		{`f.read('x')`, "!read fills a Uint8Array"},
		{`fs.open('data.csv')`, "!outermost part"},
		{`JSON.stringify(await csv.parse(f))`, `[["name","age"],["ann","3"],["bob","4"]]`},
		{`JSON.stringify(await csv.parse(f, { skipFirstLine: true }))`, `[["ann","3"],["bob","4"]]`},
		{`JSON.stringify(await csv.parse(f, { asObjects: true }))`, `[{"age":"3","name":"ann"},{"age":"4","name":"bob"}]`},
		{`JSON.stringify(await csv.parse(f, { fromLine: 1, toLine: 2 }))`, `[["ann","3"],["bob","4"]]`},
		{`JSON.stringify(await csv.parse(f, { toLine: 1 }))`, `[["name","age"],["ann","3"]]`},
		{`(await csv.parse(f, { delimiter: ';' }))[1].join('|')`, "ann,3"},
		{`csv.parse(f, { delimiter: 'ab' })`, `!delimiter is "ab"; expected one character`},
		{`csv.parse(f, { asObjects: true, skipFirstLine: true })`, "!asObjects takes names from the first line"},
		{`csv.parse(f, { fromLine: 2, toLine: 1 })`, "!fromLine is 2 and toLine 1"},
		{`csv.parse('x')`, "!csv reads what open of k6/experimental/fs opened"},
		{`(async () => { const p = new csv.Parser(f); const all = []; for (let i = 0; i < 4; i++) { all.push(JSON.stringify(await p.next())); } return all; })()`,
			`{"done":false,"value":["name","age"]},{"done":false,"value":["ann","3"]},{"done":false,"value":["bob","4"]},{"done":true,"value":[]}`},
	} {
		path := testenv.Files(t, "flow.js", `import fs from 'k6/experimental/fs'; import csv from 'k6/experimental/csv'; import { check } from 'k6';
			let f; (async () => { f = await fs.open('data.csv'); })();
			let keep = csv;
			export default async function () { const got = String(await `+c.text+`); check(0, { [got]: () => true }); }`, "data.csv", data)
		shows(t, drive(t, Config{Script: path}, 1, true), c.text, c.want, 1)
	}
}

// Secrets come from sources of the command line, and are hidden from then on.
func TestSecrets(t *testing.T) {
	file := testenv.Files(t, "secrets.txt", "token=of the file=1\r\nother=x\n")
	for _, c := range []struct {
		sources   []string
		ask, want string
	}{
		{[]string{"mock=key=of-the-mock"}, `secrets.get('key')`, "of-the-mock"},
		{[]string{"mock=a=1,b=2"}, `secrets.get('b')`, "2"},
		{[]string{"file=" + file}, `secrets.get('token')`, "of the file=1"},
		{[]string{"file=filename=" + file + ",name=vault", "mock=key=1,default"}, `secrets.get('key')`, "1"},
		{[]string{"file=" + file + ",name=vault", "mock=key=1,default"}, `secrets.source('vault').get('other')`, "x"},
		{[]string{"mock=a=1"}, `secrets.get('b')`, `!secret source "mock" has no "b"`},
		{[]string{"mock=a=1"}, `secrets.source('b').get('a')`, `!there is no secret source "b"`},
		{nil, `secrets.get('b')`, "!--secret-source file=PATH"},
	} {
		path := testenv.Files(t, "flow.js", `import secrets from 'k6/secrets'; import { check } from 'k6';
			export default async function () { const got = String(await `+c.ask+`); console.log('it is', got); check(0, { [got]: () => true }); }`)
		book, printed := new(secret.Book), new(strings.Builder)
		shows(t, driveIn(t, wire.Surroundings{Secrets: book, Console: printed}, Config{Script: path, Secrets: c.sources}, 1, true), fmt.Sprint(c.sources, c.ask), c.want, 1)
		if text := "it is " + c.want; len(c.want) > 10 && !strings.HasPrefix(c.want, "!") && (book.Hide(text) == text || !strings.Contains(printed.String(), "it is ***SECRET_REDACTED***\n")) {
			t.Errorf("%s is not hidden in %s", c.want, printed)
		}
	}
	path := testenv.Files(t, "flow.js", "export default function () {}")
	for source, want := range map[string]string{"url=http://x": `is of kind "url"; expected mock=`, "mock=secret": "has no = in part 1", "file=/no/such": "cannot be read"} {
		refuses(t, Config{Script: path, Secrets: []string{source}}, want)
	}
}
