// flowtrain completion SHELL

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

#include "pipeline/base/config/keys.h"
#include "pipeline/base/config/part_kinds.h"
#include "pipeline/commands/flags.h"
#include "pipeline/commands/propose.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {
namespace {

// Each script asks `flowtrain completion words` what may stand at the cursor, so that none falls behind the commands.
// Where there is nothing, the shell completes names of files.

constexpr const char* bash_script = R"script(_flowtrain() {
  local line=${COMP_LINE:0:COMP_POINT} program=${1/#\~/$HOME} candidate
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  local word=${words[-1]} cut=
  [[ $word == *=* && $COMP_WORDBREAKS == *=* ]] && cut=${word%"${word##*=}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    COMPREPLY+=("${candidate#"$cut"}")
  done < <("$program" completion words "${words[@]:1}" 2>/dev/null)
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o default -o bashdefault -F _flowtrain flowtrain
)script";

constexpr const char* zsh_script = R"script(#compdef flowtrain
_flowtrain() {
  local line
  local -a keys key_lines others other_lines
  for line in "${(@f)$(${(e)~words[1]} completion words "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
    if [[ ${line%%$'\t'*} == *= ]]; then
      keys+=("${line%%$'\t'*}") key_lines+=("${line/$'\t'/  -- }")
    elif [[ -n $line ]]; then
      others+=("${line%%$'\t'*}") other_lines+=("${line/$'\t'/  -- }")
    fi
  done
  if (( ! $#keys && ! $#others )); then
    _files
    return
  fi
  compadd -l -S '' -d key_lines -a keys
  compadd -l -d other_lines -a others
}
if [[ ${funcstack[1]} == _flowtrain ]]; then _flowtrain "$@"; else compdef _flowtrain flowtrain; fi
)script";

constexpr const char* fish_script = R"script(function __flowtrain_words
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l found ($before[1] completion words $before[2..-1] "$word" 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path "$word"
    end
end
complete -c flowtrain -f -a '(__flowtrain_words)'
)script";

struct Command {
  const char* name;
  const char* help;
  int (*run)(const Arguments&, Interrupt&);
};

constexpr Command table[] = {
#define FLOWTRAIN_COMMAND(function, name, usage, group, help) {name, help, function},
#include "pipeline/commands/list.h"
};

// Keys of all tables and of all parts. [[hook]] and the like cannot be changed by --set.
std::map<std::string, Key> keys_to_set() {
  std::map<std::string, Key> all;
  const auto add = [&](const std::string& table, const std::vector<Key>& keys) {
    for (auto& key : keys) all.emplace(table.empty() ? key.name : table + "." + key.name, key);
  };
  for (auto& each : core_tables()) {
    if (each.repeats == Repeats::yes) continue;
    add(each.name, each.keys);
    for (auto& kind : part_kinds())
      if (kind.table == each.name)
        for (auto& name : kind.names()) add(each.name, kind.at(name).keys);
  }
  return all;
}

void propose_settings(const std::string& begin) {
  const auto equals = begin.find('=');
  if (equals == begin.npos) {
    for (auto& [name, key] : keys_to_set()) propose(name + "=", key.help, begin);
    return;
  }
  const std::string name = begin.substr(0, equals), table = name.substr(0, name.rfind('.'));
  if (const auto* kind = part_kind(table, name.substr(table.size() + 1)))
    for (auto& part : kind->names()) propose(concat(name, "=", part), kind->at(part).help, begin);
  const auto keys = keys_to_set();
  if (const auto found = keys.find(name); found != keys.end())
    for (auto& choice : found->second.choices) propose(concat(name, "=", choice), "", begin);
}

// `words`: those after the program's name, up to the cursor.
void propose_next(const Arguments& words, Interrupt& interrupt) {
  const std::string begin = words.empty() ? "" : words.back();
  if (words.size() < 2) {
    for (auto& [name, help, run] : table) propose(name, help, begin);
    return;
  }
  if (words[words.size() - 2] == "--set") return propose_settings(begin);
  const auto named = std::ranges::find_if(table, [&](auto& each) { return words[0] == each.name; });
  const bool is_named = named != std::end(table);
  Arguments asked;
  if (is_named && words.size() > 2 && !words[1].starts_with("-")) asked.push_back(words[1]);  // a subcommand, it may be
  asked.push_back(std::string(completion_mark) + begin);
  static_cast<void>((is_named ? named->run : train)(asked, interrupt));
}

}  // namespace

int completion(const Arguments& arguments, Interrupt& interrupt) {
  if (!arguments.empty() && arguments[0] == "words") {
    propose_next({arguments.begin() + 1, arguments.end()}, interrupt);
    return 0;
  }
  CLI::App app("Prints the script by which a shell completes commands, options, keys of --set, and names of files.",
               "flowtrain completion");
  app.require_subcommand(1);
  const std::pair<const char*, const char*> scripts[] = {
      {"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
  app.add_subcommand("bash", "print the script for bash: source <(flowtrain completion bash)");
  app.add_subcommand("zsh", "print the script for zsh, which runs after compinit: source <(flowtrain completion zsh)");
  app.add_subcommand("fish", "print the script for fish: flowtrain completion fish | source");
  if (!parse(app, arguments)) return 0;
  for (auto& [shell, script] : scripts)
    if (app.got_subcommand(shell)) std::fputs(script, stdout);
  return 0;
}

}  // namespace flowtrain::commands
