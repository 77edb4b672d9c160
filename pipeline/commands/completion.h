#pragma once
// The script that `flowtrain --completion` prints.

namespace flowtrain {

/// Completes commands, options and keys of --set in bash and zsh. It asks the program for them, so that it never falls
/// behind; files and folders are left to the shell.
inline constexpr const char* completion_script =
    R"script([ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit
_flowtrain() {
  local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} word=${COMP_WORDS[COMP_CWORD]} words=
  local before=${COMP_WORDS[COMP_CWORD-1]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=$("$program" --help 2>/dev/null | sed -nE -e '/ flowtrain --/d' -e 's/^  \[?([a-z][a-z-]*)\]? .*/\1/p')
  elif [ "$before" = --set ]; then
    words=$("$program" config --keys 2>/dev/null |
      sed -nE -e '/^\[+[a-z]/{s/^\[+([a-z._]+)\].*/\1./;h;}' \
        -e '/^  [a-z0-9_]+ [=(]/{s/^  ([a-z0-9_]+) .*/\1=/;G;s/(.*)\n(.*)/\2\1/p;}')
  elif [[ $word == -* ]]; then
    [ -e "$command" ] && command=train
    words=$("$program" "$command" --help 2>/dev/null | grep -oE '^  (-[a-z],)?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+')
  elif [ "$COMP_CWORD" -eq 2 ]; then
    words=$("$program" "$command" --help 2>/dev/null | sed -nE '/^Subcommands:/,$s/^  ([a-z]+) .*/\1/p')
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -o bashdefault -F _flowtrain flowtrain
)script";

}  // namespace flowtrain
