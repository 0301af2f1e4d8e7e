package contend_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The table below is the architecture (docs/architecture.md): which package may
// import which inside this module, and where each heavy module may be imported.
//
// DO NOT CHANGE THIS DATA TO FIX A BUILD. A new line is a decision about the
// design and needs its reason in the commit message.

// layers lists, for each package, the packages of this module that it may
// import. A name that ends in /... means all packages below.
var layers = map[string][]string{
	"hist":                           {},
	"finding":                        {"internal/lazyregexp", "internal/unit"},
	"stat":                           {"finding", "internal/unit"},
	"probe":                          {"internal/unit"},
	"docs":                           {"internal/lazyregexp", "finding", "metric", "setting"},
	"setting":                        {},
	"usl":                            {"finding", "internal/unit"},
	"abtest":                         {"finding", "history", "internal/cpu", "internal/perf", "internal/revision", "why/pprof", "why/symbol", "stat", "why", "internal/unit"},
	"guard":                          {},
	"guard/guardtest":                {"guard"},
	"pipeline":                       {"setting"},
	"errkind":                        {},
	"failure":                        {"errkind"},
	"pace":                           {},
	"load":                           {"errkind", "failure", "finding", "hist", "internal/cpu", "internal/lazyregexp", "internal/perf", "internal/unit", "pace", "stat", "setting"},
	"internal/cpu":                   {},
	"internal/secret":                {"internal/lazyregexp"},
	"internal/placement":             {"internal/cpu", "probe"},
	"internal/unit":                  {},
	"internal/lazyregexp":            {},
	"internal/epoll":                 {},
	"internal/perf":                  {},
	"internal/rebind":                {},
	"why/symbol":                     {"internal/lazyregexp", "internal/perf"},
	"why/symbol/work":                {},
	"why/gotrace":                    {"why/symbol", "why/symbol/work"},
	"why/pprof":                      {"why/symbol"},
	"why":                            {"internal/lazyregexp", "why/gotrace", "internal/perf", "why/pprof", "why/symbol", "why/symbol/work", "stat"},
	"why/flame":                      {"why/symbol", "why", "internal/unit"},
	"loop":                           {"errkind", "load", "internal/epoll"},
	"metric":                         {"errkind", "hist", "internal/perf", "internal/unit", "load", "setting", "stat"},
	"h2":                             {"errkind"},
	"websocket":                      {},
	"websocket/websockettest":        {},
	"protocol/data":                  {"internal/lazyregexp", "pace", "setting", "protocol/wire"},
	"protocol/jsonpath":              {},
	"protocol/check":                 {"setting", "protocol/jsonpath"},
	"protocol/coding":                {},
	"protocol/wire":                  {"failure", "internal/secret", "pace", "setting"},
	"protocol/wire/wiretest":         {"errkind", "h2", "load", "setting", "internal/testenv"},
	"protocol/http":                  {"errkind", "load", "loop", "h2", "setting", "protocol/data", "protocol/check", "protocol/coding", "protocol/wire"},
	"protocol/grpc":                  {"errkind", "failure", "load", "loop", "h2", "setting", "protocol/wire"},
	"protocol/ws":                    {"errkind", "load", "websocket", "setting", "protocol/wire", "protocol/jsonpath", "protocol/check"},
	"protocol/roundtrip":             {"errkind", "h2", "load", "setting", "protocol/wire", "protocol/http"},
	"protocol/tcp":                   {"errkind", "load", "loop", "setting", "protocol/wire"},
	"protocol/guard":                 {"errkind", "load", "guard", "hist", "setting"},
	"protocol/pipe":                  {"load", "pipeline", "setting"},
	"protocol/script":                {"internal/lazyregexp", "errkind", "load", "loop", "pace", "setting", "protocol/coding", "protocol/grpc", "protocol/http", "protocol/ws", "protocol/wire"},
	"subject":                        {"internal/lazyregexp", "failure", "finding", "internal/perf", "internal/rebind"},
	"protocol":                       {"internal/secret", "load", "setting", "protocol/..."},
	"trial":                          {"errkind", "failure", "finding", "internal/cpu", "why/gotrace", "internal/perf", "why/pprof", "why/symbol", "internal/unit", "why", "metric", "pace", "setting", "probe", "load", "subject", "stat"},
	"trial/trialtest":                {"load", "subject", "trial"},
	"count":                          {"failure", "finding", "internal/perf", "internal/unit", "load", "setting", "stat", "subject", "trial", "why/symbol/work"},
	"expect":                         {"internal/lazyregexp", "finding", "load", "metric", "setting", "stat", "trial", "internal/unit"},
	"sweep":                          {"finding", "setting", "load", "stat", "usl", "trial", "internal/unit"},
	"search":                         {"finding", "hist", "metric", "setting", "pace", "load", "stat", "trial", "expect", "internal/unit"},
	"calibrate":                      {"metric", "setting", "probe", "load", "stat", "trial"},
	"bisect":                         {},
	"history":                        {"history/change", "stat"},
	"history/change":                 {},
	"report":                         {"bisect", "history", "history/change", "internal/lazyregexp", "count", "errkind", "failure", "finding", "metric", "probe", "hist", "stat", "usl", "load", "trial", "expect", "sweep", "search", "calibrate", "why", "why/gotrace", "internal/placement", "internal/secret", "internal/unit", "report/chart", "report/former", "report/page", "report/plain"},
	"report/abform":                  {"errkind", "hist", "load", "report/plain"},
	"report/former":                  {"internal/lazyregexp", "failure"},
	"report/page":                    {},
	"report/plain":                   {},
	"internal/telemetry":             {"hist", "load", "protocol/wire", "setting"},
	"report/chart":                   {},
	"systems/counter":                {"guard", "setting", "internal/cpu", "systems/counter/...", "systems/web"},
	"systems/counter/redis":          {"guard", "setting", "internal/redisserver"},
	"systems/counter/counterpb":      {},
	"systems/static":                 {"setting", "systems/web"},
	"systems/web":                    {},
	"internal/testenv":               {},
	"internal/redisserver":           {},
	"internal/redisserver/redistest": {"internal/testenv"},
	"internal/replicas":              {},
	"internal/revision":              {"bisect", "setting"},
	"systems/uplink/lorawan":         {},
	"systems/uplink/message":         {"systems/uplink/lorawan"},
	"systems/uplink/table":           {"systems/uplink/lorawan"},
	"systems/uplink/table/tabletest": {"internal/testenv"},
	"systems/uplink/api":             {"internal/lazyregexp", "systems/uplink/lorawan", "systems/uplink/table"},
	"systems/uplink/queue":           {"pace", "internal/redisserver", "systems/uplink/lorawan", "systems/uplink/message"},
	"systems/uplink/outbox":          {"systems/uplink/lorawan", "systems/uplink/message"},
	"systems/uplink/stream":          {"systems/uplink/lorawan", "systems/uplink/message", "systems/uplink/outbox", "websocket"},
	"systems/uplink/gen":             {"hist", "setting", "internal/cpu", "pace", "systems/uplink/lorawan", "systems/uplink/message", "systems/uplink/queue"},
	"systems/uplink/sink":            {"errkind", "hist", "setting", "internal/cpu", "load", "pace", "systems/uplink/lorawan", "systems/uplink/message", "websocket"},
	"systems/uplink/router":          {"systems/uplink/lorawan", "systems/uplink/message", "systems/uplink/table", "systems/uplink/queue", "systems/uplink/outbox", "systems/uplink/stream", "systems/uplink/api"},
	"systems/uplink/demo":            {"subject", "internal/redisserver", "systems/uplink/lorawan", "systems/uplink/message", "systems/uplink/queue", "systems/uplink/api", "systems/uplink/sink"},
	"discover":                       {"internal/lazyregexp", "failure", "protocol/grpc", "subject"},
	"experiment":                     {"internal/lazyregexp", "count", "discover", "errkind", "failure", "finding", "internal/perf", "internal/placement", "why", "why/pprof", "internal/rebind", "metric", "setting", "probe", "hist", "stat", "usl", "guard", "pipeline", "load", "subject", "protocol", "protocol/pipe", "trial", "expect", "sweep", "report", "internal/unit"},
	"fleet":                          {"failure", "finding", "internal/cpu", "internal/lazyregexp", "internal/perf", "internal/placement", "internal/secret", "why/symbol", "load", "pace", "protocol", "setting", "subject", "trial", "why"},
	"internal/cli":                   {"..."},
	"cmd/contend":                    {"internal/cli"},
	"bench/...":                      {"..."},
	"examples/server":                {},
}

// heavy says which packages may import a third-party module. Other modules may
// be imported by tests only.
var heavy = map[string][]string{
	"github.com/HdrHistogram/hdrhistogram-go": {"hist"},
	"gonum.org/v1/gonum":                      {"stat", "usl"},
	"github.com/valyala/fasthttp":             {"systems/web", "systems/counter", "systems/static", "internal/cli", "bench/verdicts", "bench/count/server"},
	"google.golang.org/grpc":                  {"protocol/grpc", "systems/counter/...", "internal/telemetry", "bench/script", "bench/count/server"},
	"google.golang.org/protobuf":              {"protocol/grpc", "why/pprof", "systems/counter/...", "internal/telemetry"},
	"google.golang.org/genproto":              {"internal/telemetry"},
	"go.opentelemetry.io/proto/otlp":          {"internal/telemetry"},
	"github.com/bufbuild/protocompile":        {"protocol/grpc", "systems/counter/counterpb"},
	"github.com/prometheus/client_golang":     {"systems/counter", "systems/uplink/router", "internal/telemetry"},
	"github.com/prometheus/procfs":            {"subject", "internal/perf", "internal/rebind"},
	"github.com/goccy/go-yaml":                {"experiment"},
	"github.com/spf13/cobra":                  {"internal/cli"},
	"github.com/spf13/pflag":                  {"internal/cli"},
	"golang.org/x/crypto":                     {"protocol/script"},
	"golang.org/x/net":                        {"protocol/wire", "protocol/wire/wiretest", "protocol/http", "protocol/script", "websocket", "systems/uplink/stream"},
	"golang.org/x/exp":                        {"why/gotrace"},
	"golang.org/x/sys":                        {"internal/cpu", "internal/epoll", "internal/perf", "internal/rebind", "pace", "loop", "probe", "subject", "protocol/http", "internal/replicas", "internal/placement"},
	"golang.org/x/term":                       {"internal/cli"},
	"github.com/gobwas":                       {"websocket/...", "protocol/ws", "systems/uplink/stream", "systems/uplink/sink", "bench/script"},
	"github.com/redis/rueidis":                {"internal/redisserver/...", "systems/uplink/queue", "systems/counter/redis", "bench/shared"},
	"github.com/alicebob/miniredis":           {"internal/redisserver/..."},
	"github.com/nats-io":                      {"fleet"},
	"github.com/jackc/pgx":                    {"systems/uplink/table/..."},
	"modernc.org/sqlite":                      {"systems/uplink/table"},
	"github.com/quic-go/quic-go":              {"protocol/roundtrip"},
	"github.com/grafana/sobek":                {"protocol/script"},
	"github.com/evanw/esbuild":                {"protocol/script"},
	"github.com/tidwall/gjson":                {"protocol/script"},
	"github.com/PuerkitoBio/goquery":          {"protocol/script"},
	"github.com/andybalholm/brotli":           {"protocol/coding"},
	"github.com/klauspost/compress":           {"protocol/coding"},
	"github.com/ianlancetaylor/demangle":      {"why/symbol"},
	"github.com/go-delve/delve":               {"why/symbol"},
	"github.com/google/pprof":                 {"why/pprof", "why/flame"},
	"github.com/anishathalye/porcupine":       {"guard/guardtest"},
	"go.uber.org/goleak":                      {"guard/guardtest", "internal/testenv"},
}

// texts names the files that match texts of errors, and whose texts these are: a library's, each with a test that
// fails when the library says it otherwise; replies of Redis, which are protocol; or those of documents that were
// written before failures were values. All else goes by types and values.
var texts = map[string]string{
	"errkind/alert.go":                "crypto/tls",
	"protocol/wire/nethttp.go":        "net/http",
	"protocol/grpc/judge.go":          "grpc-go",
	"internal/redisserver/explain.go": "rueidis, and replies of Redis",
	"protocol/http/requests.go":       "encoding/json",
	"report/former/failed.go":         "documents of contend up to 0.2",
}

// deployOnly are modules that deploy/go.mod alone may require, although tests could import them here: with
// what they need they were half of go.mod and most of what the first `go test ./...` compiled.
var deployOnly = []string{"github.com/compose-spec/", "github.com/google/go-containerregistry", "github.com/goreleaser/", "github.com/moby/", "github.com/spdx/", "k8s.io/", "sigs.k8s.io/"}

// A size is a number of lines of code, without comments and blank lines.
type size struct{ code, tests int }

// rooms are the ceilings: what a room had when its row was written, and 3% more. To raise one, write the reason
// after it, and what was removed for it. `make lines` prints the current numbers.
var rooms = map[string]size{
	".":                    {0, 670},
	"abtest":               {845, 835},   // +90: results in a history; +15: blocks that are long enough in CPU time
	"bench":                {8750, 1335}, // +135: a repository of 1,024 commits, in which contend finds one; +15, +5: counts that jitter, and rows that are chosen; +30, +25: scripts of others, with the addresses of the server; +5 of tests: rounds are drawn from fewer; +10, +5: recorded blocks are read by one package, instead of twice; +190, +35: histories of commits that are simulated; +170, +0: what each module holds of the program; +210, +45: scripts of others, against a server that answers anything; +140: servers with edits that nobody here knows; +5: sweeps that other programs spoil; +130, +15: counted servers in Rust, fasthttp, gRPC, nginx, Python and Node; +260, +20: servers in Go and C whose instructions are counted; +160, +30: sweeps of servers with known knees; those against an exhaustive sweep of two servers went
	"bisect":               {205, 230},   // +15, +45: by counts no commit is compared twice; rounds are chosen before each comparison, and there is an end to what they tell
	"calibrate":            {555, 365},   // +105, +55: what a gate would do
	"cmd":                  {15, 0},
	"count":                {1455, 960}, // +5: the first estimate of a repetition and the later one are one formula; +10: how long it takes, by how long the servers take to start at full speed; +15, +50: garbage collection as a whole, and responses that differ; +20: servers are started, and asked, once at full speed first; +45, +70: what was counted of a server is kept, and only the other is counted; +25, +15: functions that are 99% of the instructions; +35, +55: what is left, with the lives at full speed; what failed before the time was up; totals of repetitions; +10: how many repetitions there are, which report counted again; +110, +75: two servers are counted at once, a limit ends the whole, words of the simulator are kept apart; +15, +35: what the processor counts, and margins; +10: why no request succeeded; two starts of a server are one
	"deploy":               {295, 4865}, // +70: a history on a branch of its own; +295, +90: what a release has and goreleaser cannot make, and its packages and image in an empty root; +80: the action and the component, run as their runners do
	"discover":             {640, 330},  // +40, +30: programs that are not executable are known by what they begin with
	"docs":                 {670, 500},  // +0, +30: the words of comments, which internal/cli read only for packages
	"errkind":              {130, 120},
	"examples":             {50, 0},
	"expect":               {420, 320},   // +10: an operator that is wrong is named; +30, +20: amounts as pages print them, and of the metric's unit
	"experiment":           {3615, 1920}, // +0, +20: metrics at a rate; +15: an embedded file is parsed when it is asked for; +5, +5: too few rounds to count are refused, which became three; +10: the analysis with ab says where it is; one embedded file can be parsed by itself, which a test did on its own; +15, +30: what is counted for a diagnosis; +0, +5: what tells variants apart; +70, +0: programs that are started once to see what they are; +20, +35: how long counting takes, and what is left with a diagnosis; +30, +30: what cannot be counted, and experiments that can, as their files say; +0, +50: who may count instructions
	"failure":              {200, 95},
	"finding":              {425, 180}, // +10: low keep-alive limits, and a late 100 Continue; +15: what makes counts useless, or only totals
	"guard":                {825, 1215},
	"h2":                   {1395, 1140},
	"hist":                 {840, 895},
	"history":              {980, 670},   // +55, +20: functions that are 99% of the instructions, and which of them grew; +95: Go benchmarks are read here, for abtest too, which may not import report; +10, +10: a build alone at an end of the history
	"internal/cli":         {9260, 5915}, // +0, +30: a check of a history on a busy machine, and the order of scripts; +100, +20: a request as curl sends it, whether anything was measured, and a search by counts where programs disturb one by times; +85: a request as curl sends it, and whether anything was measured; +25: a margin that can be settled, where more rounds cannot be run; +35: a file that has a result is not replaced by another form of it, and proposed revisions exist; +90, +265: teardown of a script whose server is started here; a run for each difference of scripts; +85, +0: a program that cannot be driven has a page; +225, +80: the commit that made a difference is looked for; +0, +15: exit codes of scripts as in k6; +280, +0: programs without a URL, which contend finds out, and what would work in a folder; +430, +175: histories: what is kept, shown, imported and checked
	"internal/cpu":         {320, 235},
	"internal/epoll":       {135, 0},
	"fleet":                {2935, 2175}, // +10 of tests: a worker is told when its silence counts; +75: what was overheard is complete; who is to be lost is not waited for as long as others that a busy machine holds up
	"internal/lazyregexp":  {10, 70},
	"internal/perf":        {1305, 1875}, // 0, +15: exactly so many files can be opened, for rings, threads and other events; +5, +25: what is sampled more often are also the threads that began since; +20: several counters and samplers see one run of the work, for half of the CPU time; +20: registers and the stack of a sample, in place of its first word; samples four times as often; +50, +40: system calls by name, and how often is read and written; +80, +70: these are counted where no tracepoints are mounted, by a table of their numbers
	"internal/placement":   {485, 240},   // +15, +25: several at a time that hold this process
	"internal/rebind":      {390, 130},   // +70, +10: where on this machine a program is refused a connection, which few programs say
	"internal/redisserver": {405, 710},   // +30: a slot moved at a time when all nodes agree; +155: the proxy between clients and a Redis; systems/counter had two, and a test of one; +30: a command to one without a client; +20: what auto is, for all services, that the uplink demo alone had
	"internal/replicas":    {285, 135},
	"internal/revision":    {720, 625}, // +0, +25: places of commits and the checkout's own, which only internal/cli tested; +25, +20: the commits between two; +40, +5: the order of all commits, and when one was made
	"internal/secret":      {700, 180},
	"internal/telemetry":   {825, 630},
	"internal/testenv":     {420, 210}, // +0, +55: what helps tests to fail can; +65: certificates and waiting; twelve packages had their own; +40: what ends a test, what an error says, tests that wait, and files, which 350 places had; +35: golden files, which nine packages had, with a flag each
	"internal/unit":        {135, 60},  // +0, +15: each form is tested here; +45, +40: each form of a figure, which metric, load, report, probe, abtest and flame had of their own
	"systems/counter":      {2240, 4460},
	"systems/static":       {840, 790},
	"systems/web":          {185, 130},
	"systems/uplink":       {14385, 17905}, // +10, +35: what an earlier process of a live name had in hand is claimed; +60 of tests: stamps, addresses and prepared devices, which only other packages tested; +10 of tests: a commit whose answer is lost is certain to be carried out; +5 of tests: what waits for longest begins with the first; +15, +25: a router that ends says so before it closes its sockets; +15 of tests: what a lost connection had comes before what was not sent yet; +15: transactions on a file of SQLite take turns; +2, +50: acknowledgements that are cut short; +15: masters of a cluster that name each other; +40 of tests: a PostgreSQL begins with a copy of what another began with, and what is in a Redis' buffers is no data; +15: servers are asked whether they respond while others are read, as a silent one held these up for 10 s at a time; tests of what is lost, stuck or out of order when customers stay away, clients are deaf, servers silent, full or emptied; two tests of order share their check; +25: tests share a PostgreSQL, and have the databases of others that have ended
	"load":                 {4960, 3835},   // +25, +10: servers that stop after the warm-up; +5: what only flows have is one value, and an outcome smaller; +50, +45: flows that are answered in part; +120, +100: what limits of connections and a late 100 Continue cost, pauses after refusals, responses that are awaited at the end; +50, +100: who is starved, and when a server stood still; +110, +80: responses by caller, what a run went through in words, closed connections
	"loop":                 {2110, 1970},   // +10 of tests: what waits does so side by side; +20: requests that are answered too late; +65, +110: several connections of one iteration
	"metric":               {475, 305},     // +0, +50: every function of the tables is called; +0, +5: nothing is written by nobody; +15, +5: what other tools call a metric
	"pace":                 {615, 575},
	"pipeline":             {905, 890},
	"probe":                {310, 165},
	"protocol":             {21175, 14790}, // +70 of tests: what waits does so side by side; +15 of tests: tests of scripts that wait for timeouts wait at the same time; +0, +15: no data is a message without fields; +10, +10: what grpc-go made up is known by what the server did not send; connections that a dying server has just accepted; +15, +20: requests of a script that are answered too late; +120, +170: requests of a script side by side over the event loop; fields of responses and batches with a mistake as in k6; +275, +200: scripts: rates over the whole run, virtual users once a second; +800, +300: scripts: imports whose root is found, options about connections, files, CSV, secrets; +975, +200: scripts: pages of HTML and their forms, certificates, JSON Web Keys, ECDH and RSA-OAEP, Blobs, requests with mistakes
	"report":               {12635, 6485},  // +10, +5: curl for requests with more than a URL; +25, +30: servers that stop after the warm-up, searches that were interrupted, and attempts of a search that failed because of the generator; +25, +25: servers that stop after the warm-up, searches that were interrupted, and attempts of a search that failed because of the generator; +15, +15: searches that were interrupted, and attempts of a search that failed because of the generator; +10, +5: attempts of a search that failed because of the generator; +10, +25: how long what cannot be run would take; +10, +25: a delayed acknowledgement comes first; +5, +35: a busy machine has instructions counted; +20, +65: comparisons at a rate are about times, and have the rate in line 2; +35, +35: a row that is too wide for a page loses part of its name, and not its figures; why a commit was skipped; +60, +45: instructions that a diagnosis counted; +0, +15: the code alone differs; +0, +95: pages without a success, undecided experiments, flows that failed in parts, whole histories; +0, +40: where ratios and percentiles are drawn; +0, +15: functions that explain a difference are not listed twice; +20, +40: functions of counts in a history; -90, +10: Go benchmarks are read in history again, whose results abtest keeps without this; +110, +65: bisections; +70: call paths, flame graphs of both next to each other, and what follows from a function; +50: functions that explain a difference; +30, +45: counted instructions as Go benchmark lines; +25, +20: how functions of Node, Python and Java become known; +5, +10: searches that one request at a time ends; +5: levels left out because connections starve; +10: counting for which there was too little time; +25, +20: searches that end before an attempt, levels that starve connections; +15, +20: an experiment answers by what was counted; +10, +60: pages that begin with what changed; +315, +120: the page of counted instructions, with lines, callers and what is asked of the kernel; +0, +75: each figure has one form on all pages; +40, +105: too little time, servers driven at once, those that ignore SIGTERM; +30, +25: what three packages of its parts import and export; +50, +30: how exact levels and rates are, what more callers bring, and sweeps that are not done; +105, +135: the fastest of three, amounts and own metrics of runs, what spoils a server; +630, +145: histories: what is kept of a document, their page, pictures and exports
	"search":               {825, 645},     // +20, +35: objectives that one request at a time misses; +20: slow servers whose callers wait for each other, or longer than a grace; +40, +55: servers whose responses take long, or that starve connections; +125, +120: a sequential bound on the share of slow answers, and the interval of the limit; attempts of 10,000 answers went
	"setting":              {990, 380},
	"stat":                 {1470, 2450}, // +0, +45: in which ways a series moves, what a verdict says; counts of rounds with unequal numbers of samples; +0, +15: movements, which only report had tested; +15: looks at many rounds are planned in a sixth of the time; +5, +15: the weighted median, which why had a second time; +110, +65: counts that vary more than counting explains; +45, +50: means of counts, which hardly vary; +40: movements as values, which results say in their own units
	"subject":              {2975, 2890}, // +15, +40: what a runtime wrote to name its functions is removed; +60, +45: who listens is asked of the kernel, tens of microseconds instead of milliseconds for each start; +85, +30: a sample reads about the processes of its server alone; +20: tests that wait run together; +90, +90: another program at the address of a server is not measured in its place; +5, +15: the open sockets of a server are read once for each look, and its three counters count the same work; +40, +25: where on this machine it was refused a connection, which few programs say; +15, +5: where each thread waits, with its stack; +150, +25: where servers listen that nobody told where; +25: Node and Python name the functions that they run; +10, +10: waiting for CPUs does not count against a start; a guess when a limit is over went; +20, +10: a server that is already there is found among the sockets that listen, which a load test outnumbers by thousands
	"sweep":                {795, 680},   // +20, +25: other programs that keep more callers from paying; +50, +35: levels below one that starves connections count; +10: servers that starve connections; +30: what was measured if there was too little time; +120, +60: the knee, and how long to measure; a level chosen by noise went
	"trial":                {4285, 4465}, // +5: what takes more rounds than there can be; +5: metrics at a rate; +10, +35: a pair ends if one fails too often; +5: the time of sampling is without that of counting; +5, +15: rounds of a diagnosis before it was interrupted, servers that are never ready; +40, +60: where samples name no function instructions are counted; +15, +20: further rounds where the least name no function; +10, +5: a diagnosis ends when it cannot succeed, and report counts no rounds for it; +0, +50: threads of a C program that wait, from why; +45: in which function threads wait; +10: which functions are the program's own is handed on; +5: warm-ups end if connections starve; +20: a server of one connection for tests; +15: servers that starve connections end a comparison; +5: each server has its time to end
	"usl":                  {695, 425},   // +45, +35: where power peaks
	"websocket":            {360, 460},
	"why":                  {5285, 4270}, // +5, +10: rounding is not a cause; +180, +105: which functions explain counted instructions, in place of further rounds; +140, +120: the source of functions of scripts; +140, +120: functions whose code changed have a level of their own, and are named; callers in C libraries and without frame pointers, by what is on the stack; the caller whose code changed; libraries that came with a program; +100, +50: functions without a name in lines that an edit moved, for which calls of both arms are separated; +30, +30: functions of scripts in files with other names, and how Python names them; +0, +20: work that takes longer in proportion; two tests of roots are one; +180, +100: which functions of two builds have the same code, in place of roots that are only elsewhere in memory; +50, +50: callers that did not call; +0, +5: methods of Rust's primitive types; +140, +60: in which function threads wait, by what files say of their stacks, which a library reads; +465, +140: callers of functions without a frame, inlined calls of C, C++ and Rust, renamed functions, what follows from a function; +400, +90: which function explains a difference, what is the program's own, and what variants share; ranks of kinds of work went
}

type goPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string
	Standard        bool
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "contend/")
		allowed, ok := rule(layers, name)
		if !ok {
			t.Errorf("package %s has no line in the table", name)
			continue
		}
		for _, imported := range p.Imports {
			if own, isOwn := strings.CutPrefix(imported, "contend/"); isOwn {
				if !matches(allowed, own) {
					t.Errorf("%s imports %s, which the architecture does not allow", name, own)
				}
				continue
			}
			if module := moduleOf(imported); module != "" && !matches(heavy[module], name) {
				t.Errorf("%s imports %s, which is allowed in %v only", name, imported, heavy[module])
			}
		}
	}
}

func TestModulesOfDeployStayThere(t *testing.T) {
	for file, wanted := range map[string]bool{"go.mod": false, "deploy/go.mod": true} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, prefix := range deployOnly {
			if strings.Contains(string(text), "\t"+prefix) != wanted {
				t.Errorf("%s requires a module of %s: %v, want %v", file, prefix, !wanted, wanted)
			}
		}
	}
}

// docs/architecture.md draws the levels that follow from the table.
func TestLevelsAreDrawn(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := drawnLevels(); !strings.Contains(string(page), "\n```\n"+want+"```\n") {
		t.Errorf("docs/architecture.md has other levels than\n%s", want)
	}
}

// drawnLevels writes a level a paragraph, the lowest first.
func drawnLevels() string {
	var levels [][]string
	for _, name := range slices.Sorted(maps.Keys(layers)) {
		n := level(name)
		for len(levels) <= n {
			levels = append(levels, nil)
		}
		if strings.HasPrefix(name, "protocol/") {
			name = "protocol/..." // at several levels, so that another one changes nothing
		}
		levels[n] = append(levels[n], name)
	}
	var b strings.Builder
	for n, names := range levels {
		line := fmt.Sprintf("%2d", n)
		for _, name := range slices.Compact(names) {
			if len(line)+2+len(name) > 118 {
				b.WriteString(line + "\n")
				line = "  "
			}
			line += "  " + name
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// level is one more than the highest of what a package may import; nothing
// imports programs.
func level(name string) int {
	above := 0
	for imported := range layers {
		if imported != name && matches(layers[name], imported) && !matches([]string{"cmd/...", "bench/..."}, imported) {
			above = max(above, 1+level(imported))
		}
	}
	return above
}

// rule finds the line of a package, exact or by a pattern.
func rule(table map[string][]string, name string) ([]string, bool) {
	if list, ok := table[name]; ok {
		return list, true
	}
	for pattern, list := range table {
		if matches([]string{pattern}, name) {
			return list, true
		}
	}
	return nil, false
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, all := strings.CutSuffix(pattern, "...")
		if !all {
			return pattern == name
		}
		return strings.HasPrefix(name+"/", prefix)
	})
}

// moduleOf returns the module of a third-party import, "" for the standard
// library.
func moduleOf(path string) string {
	if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return ""
	}
	for module := range heavy {
		if path == module || strings.HasPrefix(path, module+"/") {
			return module
		}
	}
	return path
}

// Below internal/cli no package exits, catches signals, prints, reads the
// environment, parses flags or logs; testenv asks whether tests run in CI.
func TestLibrariesKeepOutOfTheProcess(t *testing.T) {
	forbiddenImports := []string{"os/signal", "flag", "log"}
	forbidden := map[string][]string{
		"os":  {"Exit", "Stdout", "Stderr", "Getenv", "LookupEnv", "Setenv", "ExpandEnv"},
		"fmt": {"Print", "Printf", "Println"},
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "contend/")
		if matches([]string{"internal/cli", "cmd/...", "bench/...", "examples/...", "internal/testenv"}, name) {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(forbiddenImports, imported) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
		for _, use := range uses(t, p, forbidden) {
			t.Errorf("%s", use)
		}
	}
}

// uses returns the places where a package's files select a forbidden name.
func uses(t *testing.T, p goPackage, forbidden map[string][]string) []string {
	var found []string
	files := token.NewFileSet()
	for _, file := range p.GoFiles {
		ast.Inspect(parsed(t, files, p, file), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && slices.Contains(forbidden[x.Name], s.Sel.Name) {
					found = append(found, files.Position(n.Pos()).String()+" uses "+x.Name+"."+s.Sel.Name)
				}
			}
			return true
		})
	}
	return found
}

// parsed is the tree of a package's file, with its comments.
func parsed(t *testing.T, files *token.FileSet, p goPackage, file string) *ast.File {
	t.Helper()
	tree, err := parser.ParseFile(files, filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// Functions of at most 60 lines and files of at most 400 keep a reader going.
func TestSizes(t *testing.T) {
	const maxFunc, maxFile = 60, 400
	for _, p := range packages(t) {
		files := token.NewFileSet()
		for _, file := range p.GoFiles {
			tree := parsed(t, files, p, file)
			if ast.IsGenerated(tree) {
				continue
			}
			if n := files.Position(tree.FileEnd).Line; n > maxFile {
				t.Errorf("%s/%s has %d lines, more than %d", p.ImportPath, file, n, maxFile)
			}
			for _, d := range tree.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					if n := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1; n > maxFunc {
						t.Errorf("%s: %s has %d lines, more than %d", p.ImportPath, f.Name.Name, n, maxFunc)
					}
				}
			}
		}
	}
}

// Texts of errors are matched only in the files of a table: in other files a new wording would silently change
// what is done.
func TestTextsOfErrorsAreNotMatched(t *testing.T) {
	for file := range texts {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("the table names a file that is not there: %v", err)
		}
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "contend/")
		if matches([]string{"systems/uplink/...", "internal/redisserver/redistest", "protocol/wire/wiretest", "internal/testenv"}, name) {
			continue // what they match are replies of Redis, and what tests want
		}
		files := token.NewFileSet()
		for _, file := range p.GoFiles {
			if texts[name+"/"+file] != "" {
				continue
			}
			for _, at := range textMatches(parsed(t, files, p, file)) {
				t.Errorf("%s matches the text of an error", files.Position(at))
			}
		}
	}
}

// textMatches returns where a file looks for words in what an Error method returns, or in a variable that holds it.
func textMatches(file *ast.File) (found []token.Pos) {
	held := map[string]bool{}
	var isText func(e ast.Expr) bool
	isText = func(e ast.Expr) bool {
		if x, ok := e.(*ast.Ident); ok {
			return held[x.Name]
		}
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		x, _ := s.X.(*ast.Ident)
		return s.Sel.Name == "Error" && len(call.Args) == 0 || x != nil && x.Name == "strings" && len(call.Args) > 0 && isText(call.Args[0])
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			clear(held)
		case *ast.AssignStmt:
			if x, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Lhs) == 1 && isText(n.Rhs[0]) {
				held[x.Name] = true
			}
		case *ast.SwitchStmt:
			if isText(n.Tag) {
				found = append(found, n.Pos())
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && isText(n.X) != isText(n.Y) && !isNil(n.Y) {
				found = append(found, n.Pos())
			}
		case *ast.CallExpr:
			if looksForWords(n) && slices.ContainsFunc(n.Args, isText) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

func isNil(e ast.Expr) bool { // what a result of rueidis is compared with
	x, ok := e.(*ast.Ident)
	return ok && x.Name == "nil"
}

// looksForWords reports whether a call is one of package strings or of a regular expression that looks for anything but
// the end of a line.
func looksForWords(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	if x, ok := s.X.(*ast.Ident); !ok || x.Name != "strings" {
		return strings.HasPrefix(s.Sel.Name, "Match") || strings.HasPrefix(s.Sel.Name, "Find") || strings.HasPrefix(s.Sel.Name, "ReplaceAll")
	}
	if line, ok := call.Args[len(call.Args)-1].(*ast.BasicLit); ok && line.Value == `"\n"` {
		return false
	}
	return slices.Contains([]string{"Contains", "HasPrefix", "HasSuffix", "Index", "LastIndex", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "Split", "Count"}, s.Sel.Name)
}

// The checks above are themselves tried on what they must find.
func TestPatterns(t *testing.T) {
	tests := []struct {
		patterns []string
		name     string
		want     bool
	}{
		{[]string{"load"}, "load", true},
		{[]string{"load"}, "loader", false},
		{[]string{"protocol/..."}, "protocol/http", true},
		{[]string{"protocol/..."}, "protocols", false},
		{[]string{"..."}, "anything", true},
		{nil, "anything", false},
	}
	for _, tt := range tests {
		if got := matches(tt.patterns, tt.name); got != tt.want {
			t.Errorf("matches(%v, %s) = %v", tt.patterns, tt.name, got)
		}
	}
	for path, want := range map[string]string{"net/http": "", "gonum.org/v1/gonum/mat": "gonum.org/v1/gonum",
		"example.org/x": "example.org/x"} {
		if got := moduleOf(path); got != want {
			t.Errorf("moduleOf(%s) = %s, want %s", strconv.Quote(path), got, want)
		}
	}
}

func TestTextMatches(t *testing.T) {
	for code, want := range map[string]int{
		`strings.Contains(err.Error(), "refused")`:                            1,
		`text := err.Error(); _ = strings.HasPrefix(text, "dial")`:            1,
		`text := strings.ToLower(err.Error()); _ = pattern.MatchString(text)`: 1,
		`_ = e.Err.Error() == "EOF"`:                                          1,
		`switch err.Error() { case "EOF": }`:                                  1,
		`first, _, _ := strings.Cut(err.Error(), "\n"); _ = first`:            0, // its first line
		`_ = errors.Is(err, io.EOF)`:                                          0,
		`_ = strings.Contains(name, "x") && err != nil`:                       0,
		`_ = a.Error() == b.Error()`:                                          0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() { "+code+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(textMatches(file)); got != want {
			t.Errorf("%s: %d found, want %d", code, got, want)
		}
	}
}

// packages returns what `go list` knows about this module.
func packages(t *testing.T) []goPackage {
	t.Helper()
	list, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var listed = sync.OnceValues(func() (list []goPackage, err error) {
	out, err := exec.Command("go", "list", "-json", "./...").Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if len(p.GoFiles) > 0 {
			list = append(list, p)
		}
	}
})
