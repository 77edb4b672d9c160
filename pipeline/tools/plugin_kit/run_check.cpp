// Runs one check, in the process that was started for it.

#include <algorithm>

#include "pipeline/tools/plugin_kit/check.h"
#include "pipeline/tools/plugin_kit/check_run.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

void check_interface(const std::string& plugin, Report& report) {
  report.at("the plugin is opened");
  const auto parts = parts_of(plugin);
  for (auto& part : parts) report.part(part);
  report.note(parts.empty() ? "it adds no sampler, data set or order: nothing more is checked"
                            : join(parts, ", ", [](auto& part) { return part.kind + " '" + part.name + "'"; }));
}

void run(const CheckCall& call, Report& report) {
  if (call.check == "interface") return check_interface(call.subject.plugin, report);
  const auto& checks = checks_of(call.subject.part.kind);
  const auto check = std::ranges::find(checks, call.check, [](auto& each) { return std::string(each.name); });
  if (check == checks.end()) throw UserError(ExitCode::usage, "there is no check '" + call.check + "'");
  report.at("the data is opened");
  check->run(Subject(call.subject), report);
}

}  // namespace

std::vector<std::string> words_of(const CheckCall& call) {
  std::vector<std::string> words{"plugin", "run-check", "--check", call.check};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--plugin", call.subject.plugin);
  add("--config", call.subject.config);
  add("--kind", call.subject.part.kind);
  add("--part", call.subject.part.name);
  add("--trial-data", call.subject.trial_data);
  for (auto& change : call.subject.set) add("--set", change);
  if (call.run > 0) add("--run", std::to_string(call.run));
  return words;
}

void run_check(const CheckCall& call, int report_file) {
  Report report(report_file, call.run);
  try {
    run(call, report);
  } catch (const CheckFailure& failure) {
    report.fail(failure);
  } catch (const UserError& error) {
    report.fail({error.what(), error.hint()});
  } catch (const std::exception& error) {
    report.fail({concat(report.place(), ": the call threw an exception: ", error.what()), how_to_refuse});
  } catch (...) {
    report.fail({report.place() + ": the call threw an exception that is not a std::exception", how_to_refuse});
  }
  report.end();
}

}  // namespace flowtrain::plugin_kit
