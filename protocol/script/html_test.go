package script

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"contend/internal/testenv"
	"contend/load"
	"contend/protocol/wire"
)

// aPage is what expressions of TestHTML are about.
const aPage = `<!doctype html><title>A page</title>
<ul id="list" class="big red"><li class="a" data-user-id="7" data-more='{"x": [1]}' data-on="true" data-nr="007" data-empty="" data-nul="null">one</li><!--note-->
<li class="b">two <b>bold</b></li><li class="c">three</li></ul>
<a href="/next?a=b#c" title="on">next</a> <p>a &amp; b</p>
<form id="f"><input name="text" value="v"><input name="empty"><input type="checkbox" name="yes" checked="checked"><input type="checkbox" name="bare" checked><input type="checkbox" name="no">
<input type="radio" name="r" value="1"><input type="radio" name="r" value="2" checked="checked"><input name="off" disabled="disabled"><input type="submit" name="go" value="Go">
<textarea name="area">some text</textarea><button value="x">b</button><select name="one"><option value="o1">1<option selected>second</select>
<select name="many" multiple><option selected value="m1">1<option selected value="m2">2</select></form>`

func TestHTML(t *testing.T) {
	t.Parallel()
	var all []expression
	for _, c := range []expression{
		{`$('li').size()`, "3"},
		{`$('li').text()`, "onetwo boldthree"},
		{`$('li').html()`, "one"},
		{`$('li').eq(1).html()`, "two <b>bold</b>"},
		{`$('p').html()`, "a &amp; b"},
		{`$('p').text()`, "a & b"},
		{`$('none').html() === ''`, "true"},
		{`$('none').text() + $('none').size()`, "0"},
		{`$('li').attr('class') + $('li').attr('none') + $('li').attr('none', 'else')`, "aundefinedelse"},
		{`$('li').first().text() + $('li').last().text() + $('li').eq(-2).text()`, "onethreetwo bold"},
		{`$('li').get(1).getAttribute('class') + $('li').get(-1).textContent() + $('li').get(9) + $('li').get().length`, "bthreeundefined3"},
		{`$('li').toArray().map((s) => s.attr('class'))`, "a,b,c"},
		{`$('li').map((i, s) => i + s.attr('class'))`, "0a,1b,2c"},
		{`$('li').map((i) => { if (i === 1) throw new Error('mine'); return { i }; }).map((o) => o.i)`, "0,2"},
		{`(() => { const seen = []; const same = $('li').each((i, e) => seen.push(i + e.nodeName() + e.textContent())); return seen.join() + same.size(); })()`, "0lione,1litwo bold,2lithree3"},
		{`$('li').each('x')`, "!each needs a function"},
		{`$('li').each(() => { throw new Error('mine') })`, "!mine"},
		{`$('li').slice(1).size() + '' + $('li').slice(-1).text() + $('li').slice(0, 9).size() + $('li').slice(5).size() + $('li').slice(2, 1).size()`, "2three300"},
		{`$('li').filter('.b').text() + $('li').not('.b').text()`, "two boldonethree"},
		{`$('li').filter((i, s) => i > 0 && s.text() !== 'three').text()`, "two bold"},
		{`$('li').filter($('.b')).size() + '' + $('li').is('.c') + $('li').is('.d')`, "0truefalse"}, // of another parse of the page
		{`((d) => d.find('li').not(d.find('.a').get(0)).size() + '' + d.find('li').has(d.find('b')).attr('class') + d.find('li').index(d.find('.c')))(parseHTML(page))`, "2b2"},
		{`$('li').index() + '' + $('.b').index() + $('.b').index('li') + $('none').index()`, "011-1"},
		{`$('.a').add ? 'there' : ''`, "there"},
		{`((d) => d.find('.a').add('b').add(d.find('p')).add(d.find('a').get(0)).size())(parseHTML(page))`, "4"},
		{`$('b').closest('ul').attr('id') + $('b').parent().attr('class') + $('b').parents('ul').size() + $('b').parentsUntil('ul').size()`, "listb11"},
		{`$('ul').children().size() + '' + $('ul').children('.c').text() + $('ul').contents().size()`, "3three5"},
		{`$('.a').next().attr('class') + $('.a').next('.c').size() + $('.a').nextAll().size() + $('.a').nextUntil('.c').size() + $('.a').nextUntil('.x', '.c').text()`, "b021three"},
		{`$('.c').prev().attr('class') + $('.c').prevAll('.a').text() + $('.c').prevUntil('.a').size() + $('.b').siblings().size()`, "bone12"},
		{`((d) => d.find('.a').nextUntil(d.find('.c')).size() + '' + d.find('.a').nextUntil(d.find('.c').get(0), '.x').size())(parseHTML(page))`, "10"},
		{`$('ul').find('li').end().attr('id')`, "list"},
		{`$('li').find(5)`, "!find takes a selector, a selection or an element, and not 5"},
		{`$('[[').size()`, "0"},
		{`$('li').data('userId') + 1`, "8"},
		{`$('li').data('user-id') + $('li').data('nr') + $('li').data('on') + $('li').data('more').x[0] + $('li').data('none')`, "7007true1undefined"},
		{`JSON.stringify($('li').data())`, `{"more":{"x":[1]},"nr":"007","on":true,"userId":7}`},
		{`['[name=text]', '[name=empty]', '[name=yes]', 'textarea', 'button', '[name=one]', 'option', '[name=many]', 'p'].map((s) => $(s).val()).join('|')`, "v||on|some text|x|second|o1|m1,m2|"},
		{`$('form').serialize()`, "area=some+text&empty=&many=m1&many=m2&one=second&r=2&text=v&yes=on"},
		{`JSON.stringify($('form').serializeObject())`, `{"text":"v","empty":"","yes":"on","r":"2","area":"some text","one":"second","many":["m1","m2"]}`},
		{`JSON.stringify($('input').serializeArray()[3])`, `{"name":"r","value":"2"}`},
		{`parseHTML(null).text() + parseHTML().text() + parseHTML(5).text()`, "5"},
		{`typeof $('li').none + ('find' in $('li')) + Object.keys($('li')).includes('serializeArray')`, "undefinedtruetrue"},
		{`((s) => { s.own = 5; return s.own + '' + (s.text === s.text); })($('li'))`, "5true"},

		{`((e) => [e.nodeName(), e.nodeType(), e.nodeValue(), e.id(), e.className(), e.classList().length, e.childElementCount(), e.childNodes().length].join())($('ul').get(0))`, "ul,1,,list,big red,2,3,5"},
		{`((e) => [e.firstChild().textContent(), e.firstElementChild().className(), e.lastElementChild().className(), e.children()[1].className()].join())($('ul').get(0))`, "one,a,c,b"},
		{`((e) => [e.nextElementSibling().className(), e.nextSibling().nodeType(), e.nextSibling().nodeValue(), e.previousSibling(), e.previousElementSibling()].join())($('.a').get(0))`, "b,8,note,,"},
		{`((e) => [e.parentNode().id(), e.parentElement().id(), e.ownerDocument().nodeName(), e.innerHTML(), e.toString()].join())($('.c').get(0))`, `list,list,#document,three,[object html.Node]`},
		{`((e) => [e.hasAttribute('class'), e.hasAttribute('x'), e.hasAttributes(), e.getAttribute('x'), e.getAttributeNode('class').value, e.attributes().class.name, e.getAttributeNode('x')].join())($('.c').get(0))`, "true,false,true,,c,class,"},
		{`((e) => [e.querySelector('li').className(), e.querySelectorAll('li').length, e.querySelector('x'), e.getElementsByClassName('b').length, e.getElementsByTagName('b').length, e.matches('.red'), e.hasChildNodes()].join())($('ul').get(0))`, "a,3,,1,1,true,true"},
		{`((d) => [d.find('ul').get(0).contains(d.find('b').get(0)), d.find('b').get(0).contains(d.find('ul').get(0)), d.find('b').get(0).isSameNode(d.find('b').get(0)), d.find('b').get(0).isEqualNode(parseHTML('<b>bold</b>').find('b').get(0))].join())(parseHTML(page))`, "true,false,true,true"},
		{`((e) => [e.href(), e.pathname(), e.search(), e.hash(), e.title(), e.text(), e.selection().size(), e.host(), e.origin(), e.protocol()].join())($('a').get(0))`, "/next?a=b#c,/next,?a=b,#c,on,next,1,,,:"},
		{`[$('p').get(0).id() === '', $('p').get(0).className(), $('p').get(0).classList().length].join()`, "true,,0"},
		{`['input', 'input[name=yes]', 'button', 'textarea', 'select', 'select[multiple]', 'p'].map((s) => $(s).get(0).type()).join()`, "text,checkbox,submit,textarea,select,select-multiple,"},
		{`((d) => [d.find('[name=yes]').get(0).checked(), d.find('[name=off]').get(0).disabled(), d.find('textarea').get(0).form().id(), d.find('textarea').get(0).value(), d.find('textarea').get(0).rows()].join())(parseHTML(page))`, "true,true,f,some text,0"},
	} {
		all = append(all, expression{fmt.Sprintf("((page) => { const $ = (s) => parseHTML(page).find(s); return %s; })(`%s`)", c.text, aPage), c.want})
	}
	comesTo(t, func(c Config, n int64) *load.Result { return drive(t, c, n, true) }, all)
}

// A form is sent, and a link followed, as the page has it.
func TestForms(t *testing.T) {
	t.Parallel()
	engines(t, testForms)
}

func testForms(t *testing.T, drive func(Config, int64) *load.Result) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "the" {
			fmt.Fprint(w, `<form id="a" method="post" action="login"><input name="user"><input type="hidden" name="token" value="t 1"><button type="submit" name="go" value="now"></button></form>
				<form id="b"><input name="q" value="x&y"></form><form id="c" action="?old=1#part"></form><form id="d" method="put" action="//`+r.Host+`/elsewhere"><input name="n" value="1"></form>
				<a name="nowhere">x</a><a href="../b%2Fc?d=e f">link</a> <a href="mailto:me">me</a>`)
			return
		}
		_ = r.ParseForm()
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.PostForm.Encode(), r.Header.Get("X-A"))
	}))
	defer server.Close()
	for _, c := range []struct{ call, want string }{
		{`submitForm()`, "POST /at/login go=now&n=1&q=x%26y&token=t+1&user= "}, // of all forms
		{`submitForm({ formSelector: '#a' })`, "POST /at/login go=now&token=t+1&user= "},
		{`submitForm({ formSelector: '#a', fields: { user: 'ann', more: 1 }, submitSelector: 'none', params: { headers: { 'X-A': 'b' } } })`, "POST /at/login more=1&token=t+1&user=ann b"},
		{`submitForm({ formSelector: '#b' })`, "GET /at/page?q=x%26y  "},
		{`submitForm({ formSelector: '#c', fields: { z: 1 } })`, "GET /at/page?z=1  "},
		{`submitForm({ formSelector: '#d', fields: { n: '2' } })`, "PUT /elsewhere n=2 "},
		{`submitForm({ formSelector: '#none' })`, `!"#none" finds nothing in the answer to GET /at/page`},
		{`clickLink()`, "GET /b%2Fc?d=e%20f  "},
		{`clickLink({ selector: 'a:nth-of-type(2)', params: { headers: { 'X-A': 'b' } } })`, "GET /b%2Fc?d=e%20f  b"},
		{`clickLink({ selector: 'a' })`, `!what "a" finds in the answer to GET /at/page has no href`},
		{`clickLink({ selector: 'i' })`, `!"i" finds nothing`},
		{`clickLink({ selector: 'a:last-of-type' })`, `!"mailto:me" is not an HTTP URL`},
		{`html('#a input').size() === 2 && { body: page.html().find('a').get(1).href() }`, server.URL + "/b%2Fc?d=e f"},
	} {
		path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { check } from 'k6';
			export default function () { const page = http.get(__ENV.BASE_URL + '/at/page?the'); const r = page.`+c.call+`; check(r, { [r.body]: () => true }); }`)
		shows(t, drive(Config{Script: path, URL: server.URL}, 1), c.call, c.want, 1)
	}
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; export default function () { http.get(__ENV.BASE_URL + '/at/page?the', { responseType: 'none' }).html(); }`)
	cameTo(t, drive(Config{Script: path, URL: server.URL}, 1), 1, "check failed: exception", "the answer to GET /at/page has no body to read as HTML")
}

// A file has its parts, for scripts that make forms themselves, and forms take it.
func TestFiles(t *testing.T) {
	comesTo(t, func(c Config, n int64) *load.Result { return drive(t, c, n, true) }, []expression{
		{`(({ data, filename, content_type }) => [data, filename, content_type].join())(http.file('hello', 'a.txt', 'text/plain'))`, "hello,a.txt,text/plain"},
		{`((f) => f.data.byteLength + f.content_type + /^\d+$/.test(f.filename))(http.file(text('abc').buffer))`, "3application/octet-streamtrue"},
		{`Object.keys(http.file('a'))`, "data,filename,content_type"},
		{`http.file(5)`, "!text or an ArrayBuffer is needed, not 5"},
		{`((f) => { f.filename = 'b"'; return http.post(__ENV.BASE_URL + '/echo', { f }).body.split('\\r\\n').slice(1, 5).join('|'); })(http.file('hi', 'a', 'text/x'))`, `Content-Disposition: form-data; name=\"f\"; filename=\"b\\\"\"|Content-Type: text/x||hi`},
		{`http.post(__ENV.BASE_URL + '/echo', { f: { ...http.file('hi') } }).body.includes('urlencoded')`, "true"},
	})
}

// What has no effect is said once, with its line.
func TestIgnoredParameters(t *testing.T) {
	server := shop(t)
	path := testenv.Files(t, "flow.js", `import http from 'k6/http'; import { WebSocket } from 'k6/experimental/websockets'; import ws from 'k6/ws'; let keep = WebSocket;
		export default function () {
			http.get(__ENV.BASE_URL + '/echo', { header: {}, insecureSkipTLSVerify: true });
			http.batch([['GET', __ENV.BASE_URL + '/echo', null, { verify: 1 }]]);
			if (__ITER === 0) ws.connect('ws://127.0.0.1:1/', (s) => {}), new WebSocket('ws://127.0.0.1:1/').addEventListener('opened', () => {});
		}`)
	var out strings.Builder
	r := driveIn(t, wire.Surroundings{Console: &out}, Config{Script: path, URL: server.URL}, 3, true)
	want := `script: k6/experimental/websockets is now called k6/websockets: import that instead, which is the same
script: flow.js:3:12: params.header is not known, and ignored: did you mean headers?
script: flow.js:3:12: params.insecureSkipTLSVerify is not known, and ignored; docs/scripts.md lists those that are
script: flow.js:4:14: params.verify is not known, and ignored; docs/scripts.md lists those that are
script: flow.js:5:117: event is "opened"; expected close, error, message, open, ping, pong; it is ignored
`
	if r.Completed != 2 || out.String() != want {
		t.Errorf("%d completed; printed %q, want %q", r.Completed, out.String(), want)
	}
}
