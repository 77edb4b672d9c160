#!/usr/bin/env bash
# Stands before the built program ($FLOWTRAIN_DOCS_PROGRAM) while blocks of a page run: trainings and measurements are
# short, and a server takes any free port. A configuration with a line that begins with "# small" stays as it is.
program=$FLOWTRAIN_DOCS_PROGRAM
if [[ ${1:-} == train ]]; then shift; fi
case ${1:-} in
  bench) [[ $* == *--seconds* ]] || set -- "$@" --seconds 0.1 ;;
  serve) set -- "$@" --port 0 ;;
  lr-find) set -- "$@" --iterations 10 ;;
  test | predict | replay | pack | plan | graph | hooks | config | snapshot | export | watch | metrics | report | \
    verify | postmortem | plugins | plugin | info | -* | '') ;;
  *)
    if [[ -n ${FLOWTRAIN_DOCS_RESOLVED:-} ]]; then exec "$program" config "$@" >/dev/null; fi
    if [[ -f $1 ]] && ! grep -q '^# small' "$1"; then
      short=(--max-iter 2 --set val.batches=2 --set run.threads=1 --set display.tensorboard=false)
      [[ $* == *loader.batch=* ]] || short+=(--set "loader.batch=$((${WORLD_SIZE:-1} > 4 ? WORLD_SIZE : 4))")
      set -- "$@" "${short[@]}"
    fi
    ;;
esac
exec "$program" "$@"
