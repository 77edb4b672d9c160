// flowtrain verify RUN_A RUN_B

#include <cstdio>

#include "pipeline/commands/flags.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/runs/verify/verify_report.h"

namespace flowtrain::commands {

namespace {

constexpr int runs_are_same = 0, runs_differ = 1;  // exit codes

}  // namespace

int verify(const Arguments& arguments, Interrupt&) {
  CLI::App app(
      "Compares two runs step by step, and names the first iteration, sample and tensor that differ, with the\n"
      "differences in configuration, machine and versions. This takes the hashes that verify.every writes; without\n"
      "them, losses, snapshots and final hashes are compared.\n"
      "Exit code 0: the runs are the same, as far as both go; 1: they differ.",
      "flowtrain verify");
  std::filesystem::path a, b;
  bool json = false;
  add_path(app, "RUN_A", a, "folder of a run, e.g. runs/quickstart")->required();
  add_path(app, "RUN_B", b, "folder of the other run")->required();
  app.add_flag("--json", json, "print a JSON object");
  if (!parse(app, arguments)) return runs_are_same;
  const VerifyReport report = verify_runs(a, b, describe_record);
  std::fputs((json ? to_json(report) : to_text(report)).c_str(), stdout);
  return report.comparison.differs() ? runs_differ : runs_are_same;
}

}  // namespace flowtrain::commands
