#!/bin/sh
# Makes one Redis Cluster of the nodes that are its arguments, host:port each, and keeps it one. It may be started at
# any time, and again: what is as it should be is left alone.
#
#   nobody is in a cluster          when all answer, they become one: masters for half of them, and a replica of each
#   one knows nobody, or has moved  the others are told where it is: if all move at once, as pods may, none would find
#                                   another
#   one has no part, and there are  it has lost its disk, or is new: when all answer, it becomes the replica of a master
#   fewer replicas than masters     that has fewest
#   one is known that is none of    it was lost with its disk, and its slots are with others: when all answer, those who
#   these, failed, without slots    know it forget it, or nothing could be moved or mended (--cluster rebalance, fix)
#
# After each round, one every $PAUSE seconds (10), the file $ROUND says "whole", or what it is not. $REDISCLI_AUTH, if
# set, is the password of the user "node".
set -u

# cli ends after some seconds, whatever is silent.
cli() {
	seconds=$1
	shift
	timeout "$seconds" redis-cli ${REDISCLI_AUTH:+--user node --no-auth-warning} "$@" </dev/null
}

# ask has one node answer.
ask() {
	host=${1%:*} port=${1##*:}
	shift
	cli 10 -h "$host" -p "$port" "$@" | tr -d '\r'
}

# self is what a node says of itself, "NODE ID ADDRESS:PORT@BUS ROLE MASTER". The role is master (of slots), replica,
# empty (neither) or new (neither, and it knows nobody).
self() {
	ask "$1" cluster nodes | awk -v node="$1" '
		{ known++ }
		$3 ~ /myself/ { split($2, at, ","); id = $1; master = $4; role = $3 ~ /slave/ ? "replica" : NF > 8 ? "master" : "empty" }
		END { if (id) print node, id, at[1], role == "empty" && known == 1 ? "new" : role, master }'
}

# are prints a field of the nodes of a role.
are() { echo "$table" | awk -v role="$1" -v field="$2" '$4 == role { print $field }'; }

round() {
	table=$(for node; do self "$node"; done)
	answer=$(echo "$table" | cut -d ' ' -f 1 | xargs)
	[ "$answer" = "$*" ] || echo "only these answer: $answer"
	if [ "$(are new 1 | wc -l)" = "$(echo "$table" | wc -l)" ]; then
		[ "$answer" != "$*" ] || cli 120 --cluster create $(are new 3 | cut -d @ -f 1) --cluster-replicas 1 --cluster-yes
		return
	fi
	known=$(for node in $answer; do
		ask "$node" cluster nodes | awk -v node="$node" '{ split($2, at, ","); print $3 ~ /fail(,|$)/ && NF == 8 ? "lost" : "there", node, $1, at[1] }'
	done)
	echo "$table" | while read -r node id at _; do
		for other in $answer; do
			echo "$known" | grep -qxF -e "there $other $id $at" -e "lost $other $id $at" && continue
			echo "$other meets $node at $at"
			ask "$other" cluster meet "${at%:*}" $(echo "${at##*:}" | tr @ ' ')
		done
	done
	[ "$answer" = "$*" ] || return
	echo "$known" | grep ^lost | while read -r _ node id at; do
		echo "$table" | grep -q "^[^ ]* $id " && continue
		echo "$node forgets $id, which was at $at"
		ask "$node" cluster forget "$id"
	done
	empty=$(are empty 1 | head -n 1)
	if [ -n "$empty" ] && [ "$(are replica 1 | wc -l)" -lt "$(are master 1 | wc -l)" ]; then
		master=$({ are master 2; are replica 5; } | sort | uniq -c | sort -n | awk 'NR == 1 { print $2 }')
		echo "$empty becomes a replica of $master"
		ask "$empty" cluster replicate "$master"
	fi
}

# whole tells whether all nodes say that all slots are served.
whole() {
	for node; do
		[ "$(ask "$node" cluster info | grep -cxE 'cluster_(state:ok|slots_ok:16384)')" = 2 ] || return
	done
}

# The first process of a container ends by a signal only if it asks for it, and a shell hears of one at once only while
# it waits.
trap 'kill ${!:-} 2>/dev/null; exit 0' TERM INT
while :; do
	round "$@"
	if whole "$@"; then echo whole; else echo 'not yet'; fi >"$ROUND"
	sleep "${PAUSE:-10}" &
	wait $!
done
