// flowtrain generate RUN

#include "pipeline/inference/generate/generate.h"

#include <unistd.h>

#include "pipeline/base/snapshot/tool.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/commands/flags.h"
#include "pipeline/engine/text/text_form.h"
#include "pipeline/library/computing.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::commands {
namespace {

namespace fs = std::filesystem;

/// The arguments of the command.
struct GenerateWords {
  std::string place, requested, prompts_file, tokenizer, device;
  std::uint64_t iteration = 0;
  std::vector<std::string> prompts, set;
  ContinuationRules rules;
  bool json = false, quiet = false;
};

void add_rules(CLI::App& app, ContinuationRules& rules) {
  TokenChoice& choice = rules.choice;
  auto* temperature = app.add_option("--temperature", choice.temperature,
                                     "draw from the probabilities at this temperature; 0: take the most likely token")
                          ->capture_default_str()
                          ->check(within(0.0, 100.0));
  app.add_option("--top-k", choice.top_k, "draw only from the most likely tokens, this many")
      ->check(counts_from_one("tokens"))
      ->needs(temperature);
  app.add_option("--top-p", choice.top_p, "draw only from the most likely tokens whose probabilities add up to this")
      ->check(within(1e-9, 1.0))
      ->needs(temperature);
  app.add_option("--min-p", choice.min_p, "draw only from tokens with at least this share of the greatest probability")
      ->check(within(0.0, 1.0))
      ->needs(temperature);
  app.add_option("--seed", rules.seed, "set the seed of the draws")->capture_default_str();
  app.add_option("--max-tokens", rules.most_tokens, "make this many tokens of each text at most")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
  app.add_option("--stop", rules.stop, "end a text before this text; repeatable")->allow_extra_args(false);
}

Config config_of(const fs::path& snapshot, const GenerateWords& given) {
  StartOptions start{.config = snapshot / "config.toml"};
  for (auto& each : given.set) start.overrides.push_back(parse_set(each));
  if (!given.device.empty()) start.overrides.push_back({"run.device", given.device, "--device"});
  Config config = load_for_use(start);
  const auto field = field_of_tokens(config);
  if (given.tokenizer.empty() || !field || config.list("field")[*field].text("tokenizer").empty()) return config;
  start.overrides.push_back({concat("field.", *field, ".tokenizer"), given.tokenizer, "--tokenizer"});
  return load_for_use(start);
}

}  // namespace

int generate(const Arguments& arguments, Interrupt& interrupt) {
  CLI::App app(
      "Continues texts with the language model of a run, and prints them as they are made. Only the snapshot's folder\n"
      "is needed, and the tokenizer's file. A text ends at the tokenizer's end-of-text token, at a --stop text, or\n"
      "after --max-tokens. The net sees as many of the last tokens as it takes. Equal arguments give equal texts: by\n"
      "default each token is the most likely one, and draws depend on the seed, the number of the prompt and that of\n"
      "the token alone. Without prompts, each line of standard input is one.",
      "flowtrain generate");
  GenerateWords given;
  add_path(app, "RUN", given.place, "a run's folder, its snapshots folder, or one snapshot")->required();
  auto* iter = app.add_option("--iter", given.iteration,
                              "select the snapshot of this iteration; default: the best, or the newest if none is "
                              "ranked");
  add_path(app, "--snapshot", given.requested, "select best or latest of the run, or a snapshot's folder")
      ->excludes(iter);
  app.add_option("--prompt", given.prompts, "continue this text; repeatable")->allow_extra_args(false);
  add_path(app, "--prompts", given.prompts_file,
           "continue the lines of this file: texts, or in .jsonl objects {\"prompt\": …}; - answers such objects on "
           "standard input");
  app.add_flag("--json", given.json, "print a JSON object per line: prompt, text, tokens, finish_reason, seconds");
  add_rules(app, given.rules);
  add_path(app, "--tokenizer", given.tokenizer, "use this tokenizer in place of the run's file");
  app.add_option("--device", given.device, "set run.device: auto, cpu, cuda or cuda:N");
  app.add_option("--set", given.set, "change a key of the snapshot's configuration: KEY=VALUE; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--quiet", given.quiet, "show only warnings and errors");
  if (!parse(app, arguments)) return 0;
  set_console_level(given.quiet ? ConsoleLevel::quiet : ConsoleLevel::normal);
  interrupt.saves_nothing();
  // On a terminal the line of an unfinished text ends before the message, and before the shell's prompt.
  if (::isatty(STDOUT_FILENO) == 1) interrupt.set_cleanup([] { (void)!::write(STDOUT_FILENO, "\n", 1); });
  const auto [snapshot, why] =
      snapshot_of(given.place, {*iter ? std::optional(given.iteration) : std::nullopt, given.requested});
  const Config config = config_of(snapshot, given);
  log_info(concat("snapshot ", fs::weakly_canonical(snapshot).string(), why.empty() ? "" : concat(": ", why)));
  const GenerateRequest request{.config = config,
                                .snapshot = snapshot,
                                .tokenizer = given.tokenizer,
                                .rules = given.rules,
                                .prompts = given.prompts,
                                .prompts_file = given.prompts_file,
                                .json = given.json || given.prompts_file == "-"};
  const ExitCode code = flowtrain::generate(request, computing_parts().make_learner);
  const auto signal = interrupt.requested();
  return code == ExitCode::ok && signal ? Interrupt::exit_code(*signal) : static_cast<int>(code);
}

}  // namespace flowtrain::commands
