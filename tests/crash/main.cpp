// flowtrain-selftest: whether snapshots on a disk survive kills, errors and power cuts.

#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>

#include "pipeline/base/telemetry/guard.h"
#include "stages/system/signals.h"
#include "tests/crash/crash_selftest.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app(
      "Tests whether snapshots on a disk survive accidents. Saves small snapshots in a folder of its own below DIR, "
      "and\n"
      "places an accident at each of their system calls: kill -9, I/O errors, a full disk, short writes. Then builds\n"
      "what a power cut may leave behind, from what was written and synced; whether the disk keeps what it has "
      "synced,\n"
      "only pulling the plug can tell. Takes minutes.",
      "flowtrain-selftest");
  std::string folder;
  std::uint64_t states = 2000;
  app.add_option("DIR", folder, "a folder on the disk to test")->required();
  app.add_option("--states", states, "how many states after power cuts to try")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(flowtrain::ExitCode::usage);
  }
  return static_cast<int>(flowtrain::crash_selftest(folder, states, std::cout));
}

}  // namespace

int main(int argc, char** argv) {
  flowtrain::prepare_descriptors_and_signals();
  return flowtrain::guarded_main([&] { return run(argc, argv); });
}
