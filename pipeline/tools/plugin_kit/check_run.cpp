#include "pipeline/tools/plugin_kit/check_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>

#include "pipeline/tools/plugin_kit/check.h"
#include "pipeline/tools/plugin_kit/child_run.h"
#include "pipeline/tools/plugin_kit/trial_data.h"
#include "sampling/core/registry.h"
#include "sampling/core/secrets.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

/// The outcome of a check of a part.
struct Verdict {
  std::string note, refusal;
  CheckFailure failure = {};  ///< empty texts: no failure
  std::vector<CheckedPart> parts = {};

  bool failed() const { return !failure.what.empty(); }
};

CheckFailure death(const CheckCall& call, const ChildResult& result) {
  return {concat(result.death, result.report.at.empty() ? "" : ": ", result.report.at),
          concat("run it in a debugger: gdb --args flowtrain ", join(words_of(call), " "), " --report 2")};
}

/// Returns the first item whose result differs.
std::string first_difference(const ReportLines& one, const ReportLines& other) {
  for (auto& [item, result] : one.results)
    if (const auto found = other.results.find(item); found == other.results.end() || found->second != result)
      return item;
  return {};
}

Verdict run_in_children(CheckCall call, Runs runs, double timeout_s) {
  const ChildResult first = run_child(words_of(call), timeout_s);
  const ReportLines& report = first.report;
  Verdict verdict{report.note, report.refusal, {report.failure, report.hint}, report.parts};
  if (!first.death.empty()) verdict.failure = death(call, first);
  if (verdict.failed() || runs == Runs::once) return verdict;

  if (runs == Runs::twice_apart)
    std::this_thread::sleep_for(std::chrono::seconds(1));  // begins another second of the clock
  call.run = 1;
  const ChildResult second = run_child(words_of(call), timeout_s);
  verdict.failure = {second.report.failure, second.report.hint};
  if (!second.death.empty()) verdict.failure = death(call, second);
  if (verdict.failed()) return verdict;
  if (const auto item = first_difference(report, second.report); !item.empty())
    verdict.failure = {
        concat(item, ": the result differs in a second process",
               runs == Runs::twice ? ", which makes the calls in another order" : ", which begins a second later"),
        "let it follow from the settings, the record and the seed alone: no clock, no addresses, no state of earlier "
        "calls"};
  return verdict;
}

class CheckRun {
 public:
  explicit CheckRun(const CheckOptions& options) : options_(options) {}

  void check_plugin() {
    std::printf("plugin %s\n", options_.plugin.c_str());
    const CheckCall call{{.plugin = options_.plugin, .config = {}, .set = {}, .part = {}, .trial_data = {}},
                         "interface"};
    const Verdict verdict = run_in_children(call, Runs::once, options_.timeout_s);
    report("interface", "it can be opened, and is built for this interface", verdict);
    for (auto& part : verdict.parts) check_part(part, options_.set);
  }

  /// Checks a built-in sampler. A decorator decorates `classify`, and `fields` makes a text and a picture, unless --set
  /// or the configuration says otherwise.
  void check_builtin(const std::string& name) {
    std::vector<std::string> set;
    if (find_key(samplers().at(name).keys, "inner") != nullptr) set.emplace_back("sampler.inner=classify");
    if (name == "fields" && options_.config.empty())
      set.emplace_back(
          "field=[{name = \"tokens\", from = \"txt\", as = \"bytes\", max = 64}, {name = \"image\", as = \"image\", "
          "size = 24}, {name = \"label\", as = \"label\"}]");
    set.insert(set.end(), options_.set.begin(), options_.set.end());
    check_part({"sampler", name}, set);
  }

  void check_part(const CheckedPart& part, const std::vector<std::string>& set) {
    SubjectSpec subject{options_.plugin, options_.config, set, part, {}};
    if (part.kind == "data set" || !options_.config.empty()) {
      if (const Refusal refusal = check_on(subject); !refusal.reason.empty()) fail_as(refusal);
      return;
    }
    Refusal all{.check = {}, .reason = "it takes none of the trial data"};
    bool is_used = false;
    for (auto& kind : part.kind == "order" ? std::vector<std::string>{"shapes"} : trial_kinds()) {
      subject.trial_data = kind;
      const Refusal refusal = check_on(subject);
      if (refusal.stops) return;
      is_used |= refusal.reason.empty();
      all.check = refusal.check;
      all.reason += concat("; ", kind, ": ", refusal.reason);
    }
    if (!is_used) fail_as(all);
  }

  ExitCode sum_up() const {
    if (failed_.empty())
      std::printf("%u checks passed\n", passed_);
    else
      std::printf("%u of %u checks failed: %s\n", failures_, passed_ + failures_, join(failed_).c_str());
    return failed_.empty() ? ExitCode::ok : ExitCode::data;
  }

 private:
  /// The reason why a part cannot be checked with the data.
  struct Refusal {
    std::string check, reason;
    bool stops = false;  ///< the part failed, so other data need not be tried
  };

  Refusal check_on(const SubjectSpec& subject) {
    std::printf("%s '%s'%s%s\n", subject.part.kind.c_str(), subject.part.name.c_str(),
                subject.trial_data.empty() ? "" : ", trial data: ", subject.trial_data.c_str());
    const auto& checks = checks_of(subject.part.kind);
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const Check& check = checks[i];
      const Verdict verdict = run_in_children({subject, check.name}, check.runs, options_.timeout_s);
      if (!verdict.refusal.empty()) {
        std::printf("  -     %-10s %s\n", check.name, without_secrets(verdict.refusal).c_str());
        return {check.name, verdict.refusal};
      }
      report(check.name, check.what, verdict);
      if (verdict.failed() && check.gate) {
        const std::vector<Check> rest(checks.begin() + static_cast<std::ptrdiff_t>(i) + 1, checks.end());
        std::printf("  -     not run, as '%s' failed: %s\n", check.name,
                    join(rest, ", ", [](auto& each) { return each.name; }).c_str());
        return {.check = check.name, .reason = {}, .stops = true};
      }
    }
    return {};
  }

  void fail_as(const Refusal& refusal) {
    report(refusal.check.c_str(), "",
           {.note = {},
            .refusal = {},
            .failure = {refusal.reason, "name a CONFIG with data that it takes; --set KEY=VALUE changes its keys"}});
  }

  void report(const char* name, const char* what, const Verdict& verdict) {
    if (!verdict.failed()) {
      ++passed_;
      std::printf("  pass  %-10s %s%s%s\n", name, what, verdict.note.empty() ? "" : ": ", verdict.note.c_str());
    } else {
      ++failures_;
      if (std::ranges::find(failed_, name) == failed_.end()) failed_.emplace_back(name);
      std::printf("  FAIL  %-10s %s\n", name, without_secrets(verdict.failure.what).c_str());
      if (!verdict.failure.hint.empty()) std::printf("%18s %s\n", "hint:", verdict.failure.hint.c_str());
    }
    std::fflush(stdout);
  }

  const CheckOptions& options_;
  unsigned passed_ = 0, failures_ = 0;
  std::vector<std::string> failed_;  // names
};

}  // namespace

ExitCode run_checks(const CheckOptions& options) {
  CheckRun run(options);
  std::error_code ignored;
  for (auto& file : {options.plugin, options.config})
    if (!file.empty() && !std::filesystem::exists(file, ignored))
      throw UserError(ExitCode::usage, file + ": no such file", "relative paths start at the working directory");
  if (!options.plugin.empty()) {
    run.check_plugin();
    return run.sum_up();
  }
  const auto names = options.builtin == "all" ? samplers().names() : std::vector{samplers().at(options.builtin).name};
  for (auto& name : names) run.check_builtin(name);
  return run.sum_up();
}

}  // namespace flowtrain::plugin_kit
