# What scripts read from ab's report: one "name value…" for each figure.
/^Server Software:/ || /^Server Hostname:/ || /^Server Port:/ || /^Document Path:/ { print $1, $2, $3 }
/^Document Length:/ { print "length", $3 }
/^Concurrency Level:/ { print "concurrency", $3 }
/^Time taken for tests:/ { print "seconds", ($5 > 0), $6 }
/^Complete requests:/ { print "complete", $3 }
/^Failed requests:/ { print "failed", $3 }
/^ +\(Connect: / { gsub(/[(),]/, ""); print "failures", $2, $4, $6, $8 }
/^Non-2xx responses:/ { print "non-2xx", $3 }
/^Keep-Alive requests:/ { print "kept", $3 }
/^Total transferred:/ { print "transferred", $3, $4 }
/^HTML transferred:/ { print "html", $3, $4 }
/^Total body sent:/ { print "sent", ($4 > 0) }
/^Requests per second:/ { print "rps", ($4 > 0), $5, $6 }
/^Time per request:.*\(mean\)$/ { print "per request", ($4 > 0), $5 }
/^Time per request:.*across/ { print "across", ($4 > 0), $5 }
/^Transfer rate:/ { print "rate", ($3 > 0), $4, $5 }
/^(Connect|Processing|Waiting|Total): / { print $1, NF, ($2 <= $3), ($3 <= $NF) }
/^ +[0-9]+% / { print $1, NF, ($2 >= 0) }
