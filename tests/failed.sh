#!/usr/bin/env bash
# Lists the test cases that failed in the last run of ctest: how to repeat each, and what it found wrong, or else the
# end of what it printed.
#   tests/failed.sh BUILD
set -euo pipefail

log=$1/Testing/Temporary/LastTest.log
if [[ ! -e $log ]]; then exit 0; fi

awk -v most=6 -v lines=16 '
  / Test: / { name = $0; sub(/^[0-9]+\/[0-9]+ Test: /, "", name) }
  /^Command: / { command = substr($0, 10); count = found = ended = 0 }
  !ended { printed[count++] = $0 }
  !ended && /ERROR: / { if (!found) first = count - 1; found = 1 }
  /^<end of output>$/ && !ended { ended = count - 1 }
  /^Test (Failed|Timeout)/ {
    if (++failed == 1) print "Failed tests:"
    print "  " name
    if (failed > most) next
    print "    " command
    begin = found ? first : ended > lines ? ended - lines : 0
    for (i = begin; i < ended && i < begin + lines; ++i) print "    | " printed[i]
  }' "$log"
