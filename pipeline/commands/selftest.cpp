// flowtrain selftest crash

#include <iostream>

#include "pipeline/commands/flags.h"
#include "pipeline/selftest/crash_selftest.h"

namespace flowtrain::commands {

int selftest(const Arguments& arguments, Interrupt&) {
  CLI::App app("Tries what the run's safety rests on, on this machine.", "flowtrain selftest");
  app.require_subcommand(1);
  auto* crash = app.add_subcommand(
      "crash",
      "Saves small snapshots in a folder of its own below DIR, and places an accident at each of their system calls:\n"
      "kill -9, I/O errors, a full disk, short writes. Then builds what a power cut may leave behind, from what was\n"
      "written and synced; whether the disk keeps what it has synced, only pulling the plug can tell. Minutes.");
  std::string dir;
  std::uint64_t states = 2000;
  add_path(*crash, "--dir", dir, "a folder on the disk to test")->required();
  crash->add_option("--states", states, "how many states after power cuts to try")->capture_default_str();
  if (!parse(app, arguments)) return 0;
  return static_cast<int>(crash_selftest(dir, states, std::cout));
}

}  // namespace flowtrain::commands
