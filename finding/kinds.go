package finding

import "strconv"

// busy is the share of the CPU that a side could get at which it counts as
// busy: there waiting for a core is 5.7 times as long as its use (M/M/1, ρ ÷
// (1 − ρ)).
const busy = 0.85

// What spoils the figures of a run.
var (
	NothingSucceeded = kind(Kind{Code: "nothing_succeeded",
		Says:   "no request succeeded",
		When:   "no request succeeded; the run exits with 1",
		Advice: "fix the errors listed above, then run it again"})
	Miscounted = kind(Kind{Code: "miscounted",
		Says:      "the counts do not add up to what was planned; trust no number here",
		When:      "the outcomes of the iterations do not add up to what was planned; no verdict",
		Advice:    "report this: it is a bug in contend",
		OfRun:     "any number on the page: some iterations are missing or counted twice",
		OfVerdict: "any difference: one side's numbers do not describe what it did"})
	Errors = kind(Kind{Code: "errors", Figure: true, Warns: 0.001, Refuses: 0.001,
		Says:      "more than {warns} of the planned iterations failed",
		When:      "more than {warns} of the planned iterations failed, or more than `max_errors` or an expectation allows; or successful responses stopped before the end; no verdict",
		Advice:    "fix these first: failing is often faster than succeeding",
		OfRun:     "“this many successful responses per second, at these times”: a failed request is often faster, and makes room for others",
		OfVerdict: "“A is faster”: the side that fails more often has less to do"})
	WorkerLost = kind(Kind{Code: "worker_lost",
		Says:      "a worker dropped out; these are the remaining workers' results",
		When:      "one of several workers stopped or went silent before it sent its result; the counts are the others'; no verdict",
		Advice:    "find out why it stopped, on its machine; rerun with the others",
		OfRun:     "“under the load that was asked for”: part of the load was missing",
		OfVerdict: "“under the same load”: part of one side's load was missing"})
	Starved = kind(Kind{Code: "starved",
		Says:      "some connections got no response at all",
		When:      "closed model: some callers got no response while the others got 20 each on average, or had time for them; no verdict",
		Advice:    "let the server serve more connections at once, or close each after a response (try `--no-keepalive`)",
		OfRun:     "“at this concurrency”: the responses are those of fewer connections",
		OfVerdict: "“at the same concurrency”: one side serves fewer connections"})
	// Incomplete refuses from a share on that can be set, this one if it is not.
	Incomplete = kind(Kind{Code: "incomplete", Figure: true, Warns: 0.001, Refuses: 0.01,
		Says:      "over {warns} of iterations never started or never finished: the slowest",
		When:      "over {warns} of the planned iterations never started or never finished: the slowest are missing from the percentiles. Over {refuses} (`--max-unfinished`): no verdict, and no expectation passes",
		Advice:    "lower the rate, raise the concurrency (`-c`), or allow more time (`-d`, or `--grace` of `contend run`)",
		OfRun:     "“p99 is below this limit”, and any other statement about times: the slowest responses are not in them",
		OfVerdict: "“A is faster”: the slowest responses of a side are not in its times"})
	// GeneratorShare refuses as GeneratorSaturated, and only verdicts about times.
	GeneratorShare = kind(Kind{Code: "generator_share", Figure: true, Warns: 0.10, Refuses: 0.30,
		Says:   "callers spent over {warns} of their time in the load generator",
		When:   "closed model: over {warns} of each caller's cycle was spent in the load generator. At {refuses} and above see `generator_saturated`",
		Advice: "use fewer callers, or keep connections open"})
	GeneratorBusy = kind(Kind{Code: "generator_busy", Figure: true, Warns: busy,
		Says:   "the load generator used most of its CPU and may be the bottleneck",
		When:   "the load generator used ≥ {warns} of the CPU it could get, and the server's CPU is unknown, or that of a process found at the URL, which may not be all",
		Advice: "give the load generator more cores, or its own machine"})
	// GeneratorSaturated has the share of the CPU at which it is given, and the
	// share of the cycle at which there is no verdict of any kind.
	GeneratorSaturated = kind(Kind{Code: "generator_saturated", Warns: busy, Refuses: 0.50,
		Says: "the load generator was the bottleneck; the numbers describe it alone",
		When: "the load generator used ≥ {warns} of the CPU it could get while the server used less of its own; or, closed model, over " + threshold(GeneratorShare.Refuses) +
			" of the cycle was spent in the load generator (no verdict about times), or over {refuses} and the server is not known to be at its limit: no verdict. A comparison switches to a constant rate if it can, a sweep gives a lower bound",
		Advice:    "give the load generator more CPU: pin it and the server to separate cores (`--generator-cpus`, and `--server-cpus` where contend starts the server), or use a second machine",
		OfRun:     "“the server reaches no more than this”: the load generator was the limit",
		OfVerdict: "“equal”, or a difference of any size: both sides show the load generator"})
	CPUShared = kind(Kind{Code: "cpu_shared", Figure: true, Warns: busy,
		Says:   "both sides were busy on the same cores; a server change shows only in part",
		When:   "both sides used ≥ {warns} of what they could get, on the same cores. A server change shows in the throughput at the printed share of its size",
		Advice: "pin them to separate cores, or use a second machine"})
	ServerBusy = kind(Kind{Code: "server_busy", Figure: true, Warns: busy,
		Says:   "the server was at its CPU limit, as a peak throughput test intends",
		When:   "the server used ≥ {warns} of what it could get, the load generator less. Pages of sweeps, and of comparisons of throughput without a rate, do not mark it",
		Advice: "read the times as those of a saturated server; compare times below its limit (`--rate`)"})
	OneCPU = kind(Kind{Code: "one_cpu", Aside: true,
		Says:   "the server ran on one CPU, so its threads never ran in parallel",
		When:   "contend gave the load generator CPUs of its own and left one for a server that would run several threads at the same time",
		Advice: "ignore it for most questions; to see how its threads contend, as for a lock or an atomic, let both sides share the CPUs (`--placement shared`)"})
	MachineBusy = kind(Kind{Code: "machine_busy", Figure: true, Warns: 0.25, Refuses: 0.50,
		Says:      "other programs took much of the CPU this run needed",
		When:      "one side was at its limit, or waited for a core longer than it had one, on a machine with no idle core (95% of all CPU time was used), and other programs used over {warns} of it; over {refuses}: no verdict, except for differences of throughput too large for the others to have made. Open model: no verdict about times if `start_lag` is given, too, and others took over {warns} of the CPU time that the load generator needed",
		Advice:    "rerun on an idle machine (or count instructions, which other programs hardly change: `--count`)",
		Spares:    "very large differences of throughput keep their direction",
		OfRun:     "“the server reaches no more than this”: others had the CPU",
		OfVerdict: "a difference that other programs made"})
	StartLag = kind(Kind{Code: "start_lag", Figure: true,
		Says: "iterations started late, and the delay is in the response times",
		When: "p99 of the start lag above " + TailLag.String() + " and above " + threshold(TailLagShare) + " of p99 response time, or, open model, mean lag above " + MeanLag.String() +
			" and above " + threshold(MeanLagShare) + " of the mean response time, not counting what `--start-lag` asks for. Open model: no verdict about a difference of times",
		Advice:    "raise the concurrency (`-c`), or give the load generator more CPU",
		OfRun:     "“`p95 < 2ms` fails”, if only late starts break it. An expectation that passes does so with the lag, and without expectations it is a caveat",
		OfVerdict: "a difference of times that late starts made"})
	// WorkerDiffers has the share by which a figure must be off; in addition chance must not explain it.
	WorkerDiffers = kind(Kind{Code: "worker_differs", Warns: 0.10,
		Says:   "one worker's results differ from the others' by more than {warns}",
		When:   "one of several workers had a mean response time, or a throughput per caller, over {warns} off the median of all, more often than chance explains (1%)",
		Advice: "compare its machine and its route to the server with the others' (`contend fleet check`); results include all workers"})
	OnlyRedirects = kind(Kind{Code: "only_redirects", InServer: true,
		Says:   "every success was a redirect, so the redirect is what was measured",
		When:   "every successful response is a redirect, which is not followed: the numbers are those of the redirect",
		Advice: "use the URL it redirects to, or declare it intended (`--expect-status 301`)"})
	DelayedAck = kind(Kind{Code: "delayed_ack", Figure: true, InServer: true,
		Says: "responses stall for 40 ms, as with a delayed ACK and no TCP_NODELAY",
		When: "the median response, of at most " + strconv.Itoa(ShortAnswer>>10) + " KiB, takes " + AckDelayFrom.String() + " to " + AckDelayTo.String() +
			" from its first byte to its last, as when a server writes it in pieces without TCP_NODELAY: the second waits for the acknowledgement of the first, which Linux delays by 40 ms",
		Advice: "set TCP_NODELAY in the server, or write each response in one piece; if it does both, see what it does in between"})
	Closes = kind(Kind{Code: "closes", Figure: true, InServer: true, Warns: 0.10,
		Says:   "the server closes its connections; opening others took part of the time",
		When:   "more than {warns} of the responses ended a connection that was to be kept (`Connection: close`, HTTP/1.0 without `keep-alive`, or GOAWAY where event loops drive HTTP/2 and gRPC). The figure is the share of the service time in which new ones were opened",
		Advice: "let the server keep connections (HTTP/1.1 without `Connection: close`, no low limit of requests for each), or measure what clients without keep-alive get (`--no-keepalive`)"})
	// KeepaliveLimit is given from 1 ÷ so many responses on.
	KeepaliveLimit = kind(Kind{Code: "keepalive_limit", Figure: true, InServer: true, Warns: 0.01,
		Says:   "connections end early",
		When:   "the server ended connections that were to be kept (HTTP/2 and gRPC, driven by event loops: by GOAWAY), each after the same number of requests, at most 100, and how much of the service time new connections took",
		Advice: "raise the server's limit of requests for each connection (nginx `keepalive_requests`, Apache `MaxKeepAliveRequests`, Node.js `maxRequestsPerSocket`, Envoy `max_requests_per_connection`)"})
	ContinueLate = kind(Kind{Code: "continue_late", Figure: true, InServer: true, Warns: 0.10,
		Says:   "100 Continue came late",
		When:   "requests with `Expect: 100-continue`: 100 Continue came " + LateContinue.String() + " or more after the request on average, and that was over {warns} of the service time. contend sends the body at once; curl waits up to 1 s before it does",
		Advice: "let the server send 100 Continue before it does anything slow, or leave `Expect` out of the request"})
	IdleClosed = kind(Kind{Code: "idle_closed", Aside: true,
		Says:   "requests were sent again: the server closed an idle connection",
		When:   "the server closed a kept connection, or refused a request of HTTP/2, before it responded. Requests that may be sent twice (GET, HEAD, OPTIONS, TRACE; refused ones) were sent again, once; their times include the lost attempt. Others are errors of the kind `stale`",
		Advice: "raise the server's keep-alive timeout above the pauses between requests; if there are none, find out why the server closes"})
	StrayBytes = kind(Kind{Code: "stray_bytes", Aside: true,
		Says:   "bytes arrived that belong to no response",
		When:   "a response was followed by a line break, or had a body where there can be none (204, 304, HEAD). The response counts; after a body its connection is closed",
		Advice: "have the server send what its headers announce: some clients take such bytes for the next response"})
	NotCounted = kind(Kind{Code: "not_counted", Aside: true,
		Says:   "hardware counters could not be read; there is no instruction count",
		When:   "the processor's counters could not be read, so instructions per op are unknown",
		Advice: "see the reason; nothing else is affected"})
	NotSampled = kind(Kind{Code: "not_sampled", Aside: true,
		Says:   "the server's CPU, memory and threads could not be read",
		When:   "the CPU, memory and threads of a server that contend started could not be read: it is in a container that is not found here, or the system does not show them",
		Advice: "see the reason; start containers with `docker run` or `podman run`"})
	// FewSamples warns of few iterations, and refuses a percentile that has few
	// samples beyond it.
	FewSamples = kind(Kind{Code: "few_samples", Warns: 1000, Refuses: 100,
		Says:      "too few responses for high percentiles (fewer than {warns})",
		When:      "a run of fewer than {warns} completed iterations; a rate found whose responses, fewer than {refuses} beyond a percentile, do not show that it keeps its limit",
		Advice:    "run longer (`-d`) before reading the tail",
		OfVerdict: "“p99.9 differs”, and of a rate “p99 keeps its limit”, by a few slow responses"})
	NotCompared = kind(Kind{Code: "not_compared", Aside: true,
		Says:   "too few responses beyond a percentile to compare it: fewer than 5 per round",
		When:   "fewer than 5 responses (of two stored results 20) are beyond a percentile in an average round of either variant: it gets no verdict",
		Advice: "measure longer in each round: more pairs (`--pairs`) or longer blocks (`--block`)"})
	NotSteady = kind(Kind{Code: "not_steady", Figure: true,
		Says:      "the speed changed over time",
		When:      "the throughput, at a rate the response time, showed a trend, a shift or an oscillation. In a comparison its ratio did, alike in each round or in most rounds: no verdict",
		Advice:    "look at it over time (`--full`): lengthen the warm-up (`--warmup`) if only the beginning differs; else look for leaks, garbage collection, throttling, or a job that recurs",
		OfVerdict: "“A is 10% faster”, if that changes from moment to moment"})
	ProcessesDiffer = kind(Kind{Code: "processes_differ",
		Says:      "not every process of a server wrote its counts, or one run had more processes",
		When:      "counting instructions: a server's processes that wrote their counts were more or fewer from run to run, as when one is killed or handles one request; no verdict",
		Advice:    "have the server start as many processes each time, and end them on SIGTERM",
		OfVerdict: "“B executes more”, if a process of A is missing from its counts"})
	UnnamedCode = kind(Kind{Code: "unnamed_code", Figure: true, Warns: 0.20,
		Says:   "code without names executes more than {warns} of the instructions",
		When:   "counting instructions: over {warns} of them are executed by code without a name, of a stripped program or of a JIT compiler, which makes other code under a simulator",
		Advice: "keep the symbols of a program that is stripped (Go: no -s in -ldflags); compare the times of one with a JIT compiler"})
	Stalled = kind(Kind{Code: "stalled", Figure: true,
		Says:   "the server stood still, with no response to anybody",
		When:   "no response came for at least two intervals of the run (1/16 s each, longer in runs above 18 s) that usually have 5 or more; for stalls of 0.5 s and more also whether the server used CPU, as a garbage collector does",
		Advice: "look at what it does then: garbage collection, a lock, a job that recurs, a pool that is empty (`--full` shows it over time)"})
	SteadinessUnknown = kind(Kind{Code: "steadiness_unknown",
		Says:   "too short to tell whether throughput was steady",
		When:   "the series is too short or empty",
		Advice: "measure longer (`-d`)"})
	// LittleMismatch leaves room for ramps and the cut at the window's end, which
	// explain some per cent.
	LittleMismatch = kind(Kind{Code: "little_mismatch", Warns: 0.05,
		Says:   "these numbers contradict each other: off Little's law by over {warns}",
		Advice: "check that all are means over the same window"})
	Interrupted = kind(Kind{Code: "interrupted",
		Says:   "stopped early; this covers less than you asked for",
		When:   "the run was stopped early",
		Advice: "run it again; this result covers only the time it ran"})
)

// What spoils or qualifies a comparison.
var (
	NoFigure = kind(Kind{Code: "no_figure",
		Says:      "the metric was not measured on both sides, or was 0",
		When:      "the primary metric was not measured for both variants, or was 0",
		Advice:    "choose a metric both sides have, or let contend start the servers to read their CPU and memory",
		OfVerdict: "any difference in a metric that one side does not have"})
	// AnswersDiffer has a share of the answers, and of the length of the median answer.
	AnswersDiffer = kind(Kind{Code: "answers_differ", Refuses: 0.10,
		Says: "responses differ in status, type or length: maybe not the same work",
		When: "over {refuses} of the successful responses of two variants differ in status or type (HTTP: media type; WebSocket: text or binary), or their median lengths differ by over {refuses} and over " +
			strconv.Itoa(SameLength) + " bytes, as with an error page: no verdict, unless all responses passed a check of their content",
		Advice:    "look at one response of each (`curl -i`); define a correct one (`--check`; a status is not enough), or allow the difference (`--answers-may-differ`)",
		OfVerdict: "“A is faster” of servers that do different work"})
	TooFewRounds = kind(Kind{Code: "too_few_rounds",
		Says:      "too few rounds for an interval at this confidence",
		When:      "too few rounds for an interval at this confidence",
		Advice:    "run more rounds (`--rounds`, or a longer `-d`)",
		OfVerdict: "any difference that chance can make"})
	RoundsNotFresh = kind(Kind{Code: "rounds_not_fresh",
		Says:   "servers were not restarted in each round; one start may affect them all",
		When:   "a server was not restarted in each round, so an effect of that start may be in all rounds",
		Advice: "let contend start the servers (`--url URL -- 'cmd A' 'cmd B'`)"})
	ArmsAlone = kind(Kind{Code: "arms_alone",
		Says:   "servers ran one at a time, so machine drift is in the difference",
		When:   "the commands insist on one port and their binds cannot be moved (not on Linux, or seccomp is refused), so one server ran at a time, in the order ABBA. The interval is wider, by at most the factor that it names",
		Advice: "let the URL and the commands use the address that contend hands over (see the warning), or run on Linux with seccomp allowed"})
	WarmupNotSteady = kind(Kind{Code: "warmup_not_steady",
		Says:   "in most rounds throughput still changed after 4 times the warm-up",
		Advice: "lengthen the warm-up (`--warmup`)"})
	// StillWarming has the share by which the first second of a run costs more than its end.
	StillWarming = kind(Kind{Code: "still_warming", Figure: true, Warns: 0.25, InServer: true,
		Says: "still warming up",
		When: "comparison or sweep: the CPU time per op still changed by more than 5% at the end of the warm-up, or the throughput by 10% in each round. " +
			"Run of 3 s and more: an op took over {warns} more CPU time in the first second than in the last half (twice that much more time if the CPU is unknown). If other programs used the machine, at least twice their share of it",
		Advice: "lengthen the warm-up (`--warmup`), or give a comparison and a sweep more time (`-d`); if it never ends, look for what grows"})
	LongWarmup = kind(Kind{Code: "long_warmup", Aside: true,
		Says:   "a server warms up slowly, so every start needs extra load first",
		When:   "a server needs longer than usual until its CPU time per op is level, as with a just-in-time compiler",
		Advice: "ignore it, or expect a comparison or a sweep to take longer: it restarts the servers repeatedly"})
	MachineChanged = kind(Kind{Code: "machine_changed",
		Says:   "the machine's speed changed; the affected blocks are excluded",
		When:   "the probes before and after differ in over half of the stretches of blocks; fewer are excluded silently",
		Advice: "use a quieter machine or pinned CPUs"})
	IdenticalValues = kind(Kind{Code: "identical_values",
		Says:   "every value is the same; real measurements vary",
		When:   "every value is the same",
		Advice: "check that the measurement was repeated and its unit is fine enough"})
	TooFewValues = kind(Kind{Code: "too_few_values",
		Says:   "too few values for an interval of the median",
		When:   "too few values for an interval of the median",
		Advice: "repeat more often"})
	Autocorrelated = kind(Kind{Code: "autocorrelated",
		Says:   "neighbouring rounds are correlated, so the interval is too narrow",
		When:   "neighbouring rounds are correlated: the machine changes more slowly than a round",
		Advice: "use longer rounds or a quieter machine; read the interval as too narrow"})
	DriftingRounds = kind(Kind{Code: "drifting_rounds", Figure: true, InServer: true,
		Says:   "the difference changes over the rounds, so no one number describes it",
		When:   "the ratio itself rises or falls over the rounds",
		Advice: "find what accumulates: data, a log, a cache"})
	Bimodal = kind(Kind{Code: "bimodal",
		Says:   "rounds fall into two groups; the difference describes neither",
		When:   "rounds fall into two groups",
		Advice: "find what separates them (core placement, memory layout)"})
	PlansDiffer = kind(Kind{Code: "plans_differ",
		Says:      "the two documents were measured under different loads",
		When:      "stored documents: the two were measured under different loads; no verdict",
		Advice:    "measure both under the same load",
		OfVerdict: "“A is faster” under another load"})
	EnvironmentsDiffer = kind(Kind{Code: "environments_differ",
		Says:      "the two documents come from different machines, kernels or versions",
		When:      "stored documents: machine, kernel, version or limits differ; no verdict",
		Advice:    "measure both on one machine; better, let `contend compare` interleave them",
		OfVerdict: "“A is faster” on another machine"})
	NotInterleaved = kind(Kind{Code: "not_interleaved",
		Says:   "measured at different times, so machine drift is in the difference",
		When:   "stored documents: each was measured at its own time, with the machine as it was then",
		Advice: "let `contend compare` run both side by side"})
)

// What qualifies the curve of a sweep.
var (
	// FewLevels has what the authors of USL software advise (Schwartz; R's package usl).
	FewLevels = kind(Kind{Code: "few_levels", Warns: 6,
		Says:   "the curve rests on fewer than {warns} levels (those below any INVALID one)",
		When:   "the curve of a sweep is fitted to fewer than {warns} levels; only levels below the first INVALID one count",
		Advice: "measure more levels (`--levels`)"})
	SingleUserNotMeasured = kind(Kind{Code: "single_user_not_measured",
		Says:   "concurrency 1 was not measured; its throughput is extrapolated",
		When:   "the lowest level of a sweep is above 1, so γ and α are extrapolated",
		Advice: "add level 1 (`--levels 1,…`)"})
	NoInterval = kind(Kind{Code: "no_interval",
		Says:   "too few runs or levels for a confidence interval of the curve",
		When:   "too few points for three parameters, or one run per level",
		Advice: "add runs (`--visits`) or levels"})
	PoorFit = kind(Kind{Code: "poor_fit", Warns: 0.90,
		Says:   "the curve explains less than {warns} of the variance in throughput",
		When:   "the curve explains less than {warns} of the variance in throughput",
		Advice: "look at the residuals; ignore the optimum"})
	Misfit = kind(Kind{Code: "misfit",
		Says:   "the curve misses the levels by more than noise; its intervals are too narrow",
		When:   "the curve misses the levels by more than the spread of their runs: its intervals are too narrow",
		Advice: "look at the residuals; use the smallest sufficient level, which needs no curve"})
	AlphaAboveOne = kind(Kind{Code: "alpha_above_one",
		Says:   "a second caller lowers throughput, which the curve cannot describe",
		When:   "α above 1 is not a share of serial work: a second caller lowers throughput",
		Advice: "find what the second caller waits for"})
)

// Why the search for the highest rate ended where it did.
var (
	ObjectiveMissed = kind(Kind{Code: "objective_missed",
		Says:   "a metric exceeded its limit in this attempt",
		When:   "a metric exceeded its limit in this attempt",
		Advice: "relax the objective, or try a lower rate"})
	MaxRate = kind(Kind{Code: "max_rate",
		Says:   "the highest rate allowed passed; the server may do more",
		When:   "the highest rate allowed passed",
		Advice: "raise the limit (`--max-rate`)"})
	NotSettled = kind(Kind{Code: "not_settled",
		Says:      "100 attempts contradict each other",
		Advice:    "rerun on a quieter machine, with longer attempts (`--block`) or less precision (`--precision`)",
		OfVerdict: "“this is the highest rate”"})
)

// What a reader must know of how the measurement was set up.
var (
	LeftOut = kind(Kind{Code: "left_out",
		Says:   "a part was skipped: it needs a program or a system this machine lacks",
		When:   "an experiment needs a program that is not installed, or another system",
		Advice: "install it, or run it there"})
	NoGuardian = kind(Kind{Code: "no_guardian",
		Says:   "if contend is killed (kill -9), a server it started keeps running",
		When:   "a server that contend starts would outlive a kill -9 of contend",
		Advice: "if that happens, stop it by hand"})
	Killed = kind(Kind{Code: "killed", Aside: true,
		Says:   "a server contend started did not stop on SIGTERM and was killed",
		When:   "a server contend started did not stop on SIGTERM and was killed",
		Advice: "find out why it ignores SIGTERM, or give it more time (`--stop-timeout`)"})
)
