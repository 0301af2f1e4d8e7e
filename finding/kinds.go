package finding

import "strconv"

// busy is the share of the CPU that it could get from which on a side counts as
// busy: there waiting for a core is 5.7 times as long as its use (M/M/1,
// ρ ÷ (1 − ρ)).
const busy = 0.85

// What spoils the figures of a run.
var (
	NothingSucceeded = kind(Kind{Code: "nothing_succeeded",
		Says:   "no right answer arrived at all",
		When:   "no right answer arrived; the run exits with 1",
		Advice: "read the errors by kind"})
	Miscounted = kind(Kind{Code: "miscounted",
		Says:      "the counts do not add up to what was planned, so no figure can be trusted",
		When:      "what became of the iterations (right, wrong, no answer, dropped, unfinished: each is counted where it happens) does not add up to what was planned; no verdict",
		Advice:    "report it: it is a defect of contend, and the figures are those of fewer or of more iterations than there were",
		OfRun:     "any number of the page: iterations are missing from it, or in it twice",
		OfVerdict: "any difference: the numbers of a side are not those of what it did"})
	Errors = kind(Kind{Code: "errors", Figure: true, Warns: 0.001, Refuses: 0.001,
		Says:      "over {warns} of the planned iterations failed or errored",
		When:      "over {warns} of the planned iterations failed or errored, or over what a claim such as `errors < 1%` or `max_errors` allows; or a run ended without the right answers that it had before; no verdict",
		Advice:    "mend these first, because a failure is often faster than an answer",
		OfRun:     "“this many right responses a second, at these times”: a failed request is often faster, and makes room for others. In a script a failed check is what the script asked about, and is no reason",
		OfVerdict: "“A is faster”: the side that fails more often has less to do"})
	WorkerLost = kind(Kind{Code: "worker_lost",
		Says:      "a worker is missing, so the figures are only those of the others",
		When:      "several workers drove the load, and one of them was gone, or silent, before it had sent its result; the counts are those of the others; no verdict",
		Advice:    "see why it ended, on its machine, and repeat it with the workers that are left",
		OfRun:     "“under the load that was asked for”: a part of the load was not there",
		OfVerdict: "“under the same load”: a part of one side's load was not there"})
	// Incomplete refuses from a share on that can be set, this one if it is not.
	Incomplete = kind(Kind{Code: "incomplete", Figure: true, Warns: 0.001, Refuses: 0.01,
		Says:      "over {warns} of the iterations never started or ended: the slowest",
		When:      "over {warns} of the planned iterations were dropped or unfinished: the slowest are missing from the percentiles. Over {refuses} (`--max-unfinished`): no verdict, no throughput beside another figure, and no expectation holds",
		Advice:    "lower the rate, or allow more callers (`-c`) or more time (`-d`, or `--grace` of `contend run`)",
		OfRun:     "“p99 is below this bound”, and any other about times: the slowest responses are not in them",
		OfVerdict: "“A is faster”: the slowest responses of a side are not in its times"})
	// GeneratorShare refuses as GeneratorSaturated, and only verdicts about times.
	GeneratorShare = kind(Kind{Code: "generator_share", Figure: true, Warns: 0.10, Refuses: 0.30,
		Says:   "over {warns} of each caller's time was the generator's, not the server's",
		When:   "closed model: over {warns} of each caller's cycle was spent in the generator (1 − X·(S+Z)/N, Little's law on the service time; with the response time it would be an identity). From {refuses} on see `generator_saturated`",
		Advice: "use fewer callers, or connections that are kept alive"})
	GeneratorBusy = kind(Kind{Code: "generator_busy", Figure: true, Warns: busy,
		Says:   "the generator used most of the CPU it could get, so it may be the limit",
		When:   "nothing is known of the server, or it is one that was found to listen at the URL, which may not be all that answers, and used less of its CPU: the generator used ≥ {warns} of the CPU it could get",
		Advice: "give the generator more cores, or a machine of its own"})
	// GeneratorSaturated has the share of the CPU from which on it is said, and the
	// share of the cycle from which on there is no verdict of any kind.
	GeneratorSaturated = kind(Kind{Code: "generator_saturated", Warns: busy, Refuses: 0.50,
		Says: "the generator was the limit, not the server, so the figures are its own",
		When: "the generator used ≥ {warns} of the CPU it could get while the server used less of its own; or, closed model, over " + threshold(GeneratorShare.Refuses) +
			" of the cycle was the generator's (no verdict about times), or over {refuses} and nothing shows that the server was at its limit: no verdict. A comparison changes over to a constant rate by itself, and a sweep gives a bound, where they can",
		Advice:    "lift what limits the generator, pin both sides apart (`--generator-cpus`, and `--server-cpus` where contend starts the server), or use a second machine",
		OfRun:     "“the server comes to no more than this”. A claim that holds all the same, such as `throughput >= 1000` or at a rate `p99 < 20ms`, is true and ends it with 0",
		OfVerdict: "“equal”, or a difference of any size: both sides show the load generator"})
	CPUShared = kind(Kind{Code: "cpu_shared", Figure: true, Warns: busy,
		Says:   "both busy on the same cores: a change of the server shows smaller than it is",
		When:   "both used ≥ {warns} of what they could get, on the same cores: a finding. A server change shows in the throughput at the printed share of its size, server ÷ (server + generator)",
		Advice: "pin them apart, or use a second machine"})
	ServerBusy = kind(Kind{Code: "server_busy", Figure: true, Warns: busy,
		Says:   "the server was at its limit, as a test for the highest throughput wants it",
		When:   "the server used ≥ {warns} of what it could get, the generator less: a finding, and what a test for the highest throughput wants, so that pages of sweeps, and of comparisons of throughput without a rate, do not mark it",
		Advice: "read times as those of a full server, and compare them below its limit (`--rate`)"})
	OneCPU = kind(Kind{Code: "one_cpu", Aside: true,
		Says:   "the server ran on one CPU, so its threads never ran in parallel",
		When:   "contend gave the load generator CPUs of its own and one was left for the server, which would run several threads at the same time: none of them used 80% of its CPU time, or it is a Go program, which runs as many as it finds CPUs",
		Advice: "nothing for most questions; to see how its threads contend, as for a lock or an atomic, let both sides share the CPUs (`--placement shared`)"})
	MachineBusy = kind(Kind{Code: "machine_busy", Figure: true, Warns: 0.25, Refuses: 0.50,
		Says:      "other programs took much of the CPU time that was needed",
		When:      "generator or server was at its limit, or waited for a core longer than it had one, on a machine with no idle core (95 % of all CPU time was used), and other programs used over {warns} of it; over {refuses}: no verdict, but for a difference of throughput above all CPU time ÷ what generator and server had of it, which others cannot have made. Open model: no verdict about times where `start_lag` is given and others took over {warns} of the CPU time that the generator needed",
		Advice:    "repeat it on a quiet machine",
		Spares:    "very large differences of throughput keep their direction",
		OfRun:     "“the server comes to no more than this”: others had the CPU. A claim that holds all the same is true and ends it with 0",
		OfVerdict: "a difference that others made"})
	StartLag = kind(Kind{Code: "start_lag", Figure: true,
		Says: "iterations began late, which is in the response times",
		When: "p99 of the start lag above " + TailLag.String() + " and above " + threshold(TailLagShare) + " of p99 response time, or, open model, mean lag above " + MeanLag.String() +
			" and above " + threshold(MeanLagShare) + " of the mean response time, not counting what `--start-lag` asks for. Open model: no verdict about a difference of times",
		Advice:    "allow more callers (`-c`), or leave the generator more CPU",
		OfRun:     "“`p95 < 2ms` fails”, where only late starts break it. A claim that holds does so with the lag, and without claims it is a caveat",
		OfVerdict: "a difference of times that late starts made"})
	// WorkerDiffers has the share by which a figure is to be off, beside that chance does not explain it.
	WorkerDiffers = kind(Kind{Code: "worker_differs", Warns: 0.10,
		Says:   "a worker measured something else than the others, by over {warns}",
		When:   "of several workers, one's mean response time, or throughput per caller, was over {warns} off the median of all, in so many of 30 parts of the run, or of the blocks, that it happens to none of equal workers in over 1 % of runs (a bound on the sum of its ranks)",
		Advice: "see what its machine and its way to the server have that the others' do not (`contend fleet check`); all are in the figures"})
	OnlyRedirects = kind(Kind{Code: "only_redirects",
		Says:   "every right answer only names another URL, so the redirect is what was measured",
		When:   "every right answer only names another URL, which is not followed: the figures are those of the redirect",
		Advice: "give the URL that it redirects to, or say that the redirect is meant (`--expect-status 301`)"})
	DelayedAck = kind(Kind{Code: "delayed_ack", Figure: true,
		Says: "answers wait 40 ms for an acknowledgement, as without TCP_NODELAY",
		When: "the median answer, of at most " + strconv.Itoa(ShortAnswer>>10) + " KiB, takes " + AckDelayFrom.String() + " to " + AckDelayTo.String() +
			" from its first byte to its last: so does one that a server writes in pieces without TCP_NODELAY. The second waits for the acknowledgement of the first (Nagle's algorithm), which Linux delays by 40 ms",
		Advice: "set TCP_NODELAY in the server, or have it write the answer in one piece; if it does both, see what it does between the two"})
	IdleClosed = kind(Kind{Code: "idle_closed", Aside: true,
		Says:   "requests were sent again: the server closed an idle connection",
		When:   "the server closed a connection that it had kept, or refused a request of HTTP/2, before any of the response came. A request that may be sent twice (GET, HEAD, OPTIONS, TRACE; any that was refused) was sent again, once, on a new connection; its time includes the lost attempt. Others are errors of the kind `stale`",
		Advice: "raise the server's keep-alive timeout above the pauses between requests; if there are none, see why the server closes"})
	StrayBytes = kind(Kind{Code: "stray_bytes", Aside: true,
		Says:   "bytes came that belong to no response",
		When:   "a response was followed by a line break, or had a body where there can be none (204, 304, HEAD). The response counts; after a body its connection is closed",
		Advice: "have the server send what its headers announce: some clients take such bytes for the next response"})
	NotCounted = kind(Kind{Code: "not_counted", Aside: true,
		Says:   "the processor's counters could not be read, so instructions are not known",
		When:   "the processor's counters could not be read for a variant's processes, so that nothing is said about instructions per operation",
		Advice: "see the reason; all other figures are as good as without"})
	NotSampled = kind(Kind{Code: "not_sampled", Aside: true,
		Says:   "what the server used (CPU, memory, threads) is not known",
		When:   "nothing is known of what a variant's server used (CPU, memory, threads), though contend started it: it is in a container that is not found here, or the system does not tell",
		Advice: "see the reason; begin the command of a container with `docker run` or `podman run`"})
	// FewSamples warns of few iterations, and refuses a percentile that has few
	// samples beyond it.
	FewSamples = kind(Kind{Code: "few_samples", Warns: 1000, Refuses: 100,
		Says:      "too few responses for high percentiles: under {warns}",
		When:      "a run of fewer than {warns} completed iterations; an attempt with fewer than {refuses} beyond it",
		Advice:    "run longer before reading tails",
		OfVerdict: "“p99.9 differs”, and of a rate “p99 keeps its bound”, by a few slow responses"})
	NotCompared = kind(Kind{Code: "not_compared", Aside: true,
		Says:   "too few responses beyond a percentile to compare it: under 5 a round",
		When:   "fewer than 5 responses (of two stored documents 20) lie beyond a percentile in an average round of either variant, so that there is no verdict on it",
		Advice: "measure longer in each round: more pairs (`--pairs`) or longer blocks (`--block`)"})
	NotSteady = kind(Kind{Code: "not_steady",
		Says:      "throughput, or at a rate response time, went up, down or in waves: see it over time",
		When:      "the throughput, at a rate the response time, showed a trend, a shift or an oscillation. In a comparison its ratio did, the same within each round, or in most rounds: no verdict about a difference. A run keeps its figures, which are those of all of it",
		Advice:    "look at it over time (`--full`): lengthen the warm-up (`--warmup`) where only the beginning differs; else look for leaks, garbage collection, throttling, or a job that comes again and again",
		OfVerdict: "“A is 10 % faster”, where that changes from moment to moment"})
	SteadinessUnknown = kind(Kind{Code: "steadiness_unknown",
		Says:   "too short to see whether the throughput was steady",
		When:   "the series is too short or empty",
		Advice: "measure longer"})
	// LittleMismatch leaves room for ramps and the cut at the window's end, which
	// explain some per cent.
	LittleMismatch = kind(Kind{Code: "little_mismatch", Warns: 0.05,
		Says:   "the figures cannot all be true at once: they miss Little's law by over {warns}",
		Advice: "see that all are means over the same window"})
	Interrupted = kind(Kind{Code: "interrupted",
		Says:   "ended before its time, so it rests on less than was asked for",
		When:   "the run was ended before its time",
		Advice: "run it again, and read the figures as those of the time that it had"})
)

// What spoils or qualifies a comparison.
var (
	NoFigure = kind(Kind{Code: "no_figure",
		Says:      "the metric asked for was not measured on both sides, or was 0",
		When:      "the primary metric was not measured for both variants, or was 0",
		Advice:    "choose a metric that both have, or let contend start the servers, whose CPU and memory it can then read",
		OfVerdict: "any difference of a metric that a side does not have"})
	// AnswersDiffer has a share of the answers, and of the length of the median answer.
	AnswersDiffer = kind(Kind{Code: "answers_differ", Refuses: 0.10,
		Says: "the right answers differ in kind or length, so the work may not be the same",
		When: "over {refuses} of the right answers of two variants are of different status or type (HTTP: media type; WebSocket: text or binary), or their median lengths differ by over {refuses} and over " +
			strconv.Itoa(SameLength) + " bytes, as those of an error page or a redirect do: the servers do not do the same work, no verdict. Not said where all answers passed a check of their content",
		Advice:    "look at both answers (`curl -i`); say what a right one is (`--check`; a status is not enough), or that they may differ (`--answers-may-differ`)",
		OfVerdict: "“A is faster” of servers that do different work"})
	TooFewRounds = kind(Kind{Code: "too_few_rounds",
		Says:      "fewer rounds than an interval takes at this confidence",
		When:      "no interval at this confidence",
		Advice:    "repeat it more often (`--rounds`, or a longer `-d`)",
		OfVerdict: "any difference that chance can make"})
	RoundsNotFresh = kind(Kind{Code: "rounds_not_fresh",
		Says:   "servers were not restarted in each round, so one start's effects may be in all",
		When:   "a server was not a process started afresh in each round, so a layout effect of the one process may be in all rounds",
		Advice: "let contend start the servers (`--url URL -- 'cmd A' 'cmd B'`)"})
	ArmsAlone = kind(Kind{Code: "arms_alone",
		Says:   "the servers were alive one at a time, so changes of the machine are in the difference",
		When:   "commands insist on one port where their binds cannot be moved (another system than Linux, or seccomp is refused), so one server was alive at a time, for a while each in the order ABBA: what the machine did between these is in the ratio, and the interval is wider than that of interleaved blocks, by at most the factor that it names",
		Advice: "have the URL and the commands take the address that contend hands over (see the warning), or run it on Linux where seccomp is allowed"})
	WarmupNotSteady = kind(Kind{Code: "warmup_not_steady",
		Says:   "in most rounds the throughput still changed after four times the warm-up",
		Advice: "a longer warm-up"})
	// StillWarming has the share by which the first second of a run costs more than its end.
	StillWarming = kind(Kind{Code: "still_warming", Figure: true, Warns: 0.25,
		Says: "still warming up",
		When: "a comparison, or a sweep: the CPU time per operation still changed by more than 5% when the time for warming up was over, or the throughput by 10% in each round: a leak, growth, or a compiler that goes on. " +
			"A run of 3 s and more: an operation took over {warns} more CPU time in its first second than in its last half, and less from then on; where the server's CPU is not known, twice as much more time. Where other programs used the machine, it takes twice their share of it, if that is more",
		Advice: "lengthen the warm-up (`--warmup`), or give a comparison and a sweep more time (`-d`); if it never ends, look for what grows"})
	LongWarmup = kind(Kind{Code: "long_warmup", Aside: true,
		Says:   "a server warms up slowly, so each start is followed by more load first",
		When:   "a server needs longer than the usual warm-up until its CPU time per operation is level, as where a just-in-time compiler is at work",
		Advice: "nothing; a comparison or a sweep then takes longer, since it starts the servers again and again"})
	MachineChanged = kind(Kind{Code: "machine_changed",
		Says:   "the machine ran at another speed for a while: blocks of then are left out",
		When:   "the probes before and after differ in over half of the stretches of blocks; fewer are left out without a word",
		Advice: "repeat it on a quieter machine"})
	IdenticalValues = kind(Kind{Code: "identical_values",
		Says:   "the values never vary, as measurements do",
		When:   "the values never vary",
		Advice: "check that the measurement was repeated, and that its unit is fine enough"})
	TooFewValues = kind(Kind{Code: "too_few_values",
		Says:   "too few values for an interval of their median",
		When:   "no interval for the median",
		Advice: "repeat more often"})
	Autocorrelated = kind(Kind{Code: "autocorrelated",
		Says:   "neighbouring rounds are alike: the machine has moods, the interval is too narrow",
		When:   "neighbouring rounds are alike: the machine has moods longer than a round",
		Advice: "longer rounds, a quieter machine; read the interval as too narrow"})
	DriftingRounds = kind(Kind{Code: "drifting_rounds", Figure: true,
		Says:   "the difference rises or falls over the rounds: there is no single one",
		When:   "the ratio itself rises or falls over the rounds",
		Advice: "find out what grows: data, a log, a cache; there is no single ratio"})
	Bimodal = kind(Kind{Code: "bimodal",
		Says:   "the rounds fall into two groups, and the difference describes neither",
		When:   "rounds fall into two groups",
		Advice: "find out what the groups are (placement on cores, memory layout); the ratio describes neither"})
	PlansDiffer = kind(Kind{Code: "plans_differ",
		Says:      "the two documents were not driven alike",
		When:      "stored documents: the two were not driven alike; no verdict",
		Advice:    "measure both with the same load",
		OfVerdict: "“A is faster” under another load"})
	EnvironmentsDiffer = kind(Kind{Code: "environments_differ",
		Says:      "the two documents are of other machines, kernels, versions or limits",
		When:      "stored documents: machine, kernel, version or limits differ; no verdict",
		Advice:    "measure both on the same machine, or better let `contend compare` interleave them",
		OfVerdict: "“A is faster” on another machine"})
	NotInterleaved = kind(Kind{Code: "not_interleaved",
		Says:   "measured at different times, so changes of the machine are in the difference",
		When:   "stored documents: each was measured at a time of its own, with the machine as it was then",
		Advice: "let `contend compare` run both side by side"})
)

// What qualifies the curve of a sweep.
var (
	// FewLevels has what the authors of USL software advise (Schwartz; R's package usl).
	FewLevels = kind(Kind{Code: "few_levels", Warns: 6,
		Says:   "the law is fitted to fewer than {warns} levels; from the first INVALID one on none counts",
		When:   "the law of a sweep is fitted to fewer than {warns} levels; from the first INVALID one on none counts",
		Advice: "measure more levels"})
	SingleUserNotMeasured = kind(Kind{Code: "single_user_not_measured",
		Says:   "concurrency 1 was not measured, so its throughput is a guess",
		When:   "the lowest level of a sweep is above 1, so γ and α are extrapolated",
		Advice: "add level 1"})
	NoInterval = kind(Kind{Code: "no_interval",
		Says:   "too few runs or levels to say how sure the curve is",
		When:   "too few points beside three parameters, or one run per level",
		Advice: "more runs (`--visits`), or more levels"})
	PoorFit = kind(Kind{Code: "poor_fit", Warns: 0.90,
		Says:   "the curve explains less than {warns} of the variance of the throughput",
		When:   "the law explains less than {warns} of the variance of the throughput",
		Advice: "look at the residuals, and do not use the optimum"})
	Misfit = kind(Kind{Code: "misfit",
		Says:   "the curve misses the levels by more than noise, so its intervals are too narrow",
		When:   "the law misses the levels by more than their runs lie apart: its intervals are too narrow",
		Advice: "look at the residuals, and go by the smallest level that is enough, which needs no law"})
	AlphaAboveOne = kind(Kind{Code: "alpha_above_one",
		Says:   "a second caller costs more than it brings, for which the curve has no meaning",
		When:   "α above 1 is no share of serial work: a second user costs more than it brings",
		Advice: "look for what the second user waits for"})
)

// Why the search for the highest rate ended where it did.
var (
	ObjectiveMissed = kind(Kind{Code: "objective_missed",
		Says:   "a figure of the attempt was above its bound",
		When:   "a metric of an attempt was above its bound",
		Advice: "lower the rate, or the claim"})
	MaxRate = kind(Kind{Code: "max_rate",
		Says:   "the highest rate that was allowed held, so the server may do more",
		When:   "the highest rate that was allowed held",
		Advice: "allow more (`--max-rate`)"})
	NotSettled = kind(Kind{Code: "not_settled",
		Says:      "100 attempts contradict each other",
		Advice:    "repeat it on a quieter machine, with longer attempts (`-d`) or less precision",
		OfVerdict: "“this is the highest rate”"})
)

// What a reader must know of how the measurement was set up.
var (
	LeftOut = kind(Kind{Code: "left_out",
		Says:   "a part was not run: a program it needs is missing, or it needs another system",
		When:   "a program that an experiment needs is not installed, or it runs on another system only",
		Advice: "install it, or run it there"})
	NoGuardian = kind(Kind{Code: "no_guardian",
		Says:   "if contend is killed by force, a server that it started goes on",
		When:   "a server that we start would outlive a kill -9 of contend",
		Advice: "end it by hand, should that happen"})
	Killed = kind(Kind{Code: "killed",
		Says:   "a server that contend started did not end when asked to, and was killed",
		When:   "a server that we started did not end when asked to",
		Advice: "see why it does not end on SIGTERM"})
)
