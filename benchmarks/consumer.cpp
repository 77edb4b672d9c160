// Measures how long a consumer waits for batches. It takes each batch from a configuration's loader, holds it as long
// as a training step would take, and gives it back. Prints JSON.
//
//     build/release/bin/bench_consumer STEP_MS SECONDS CONFIG [KEY=VALUE…]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "pipeline/engine/session/assembly.h"
#include "pipeline/engine/session/start.h"
#include "sampling/core/error.h"
#include "stages/trace/clock.h"

using namespace flowtrain;

namespace {

using Clock = std::chrono::steady_clock;

/// Takes a batch, holds it for `step`; returns its pictures.
std::uint64_t consume(Loader& line, std::chrono::duration<double> step, double& waited_s) {
  const auto begin = Clock::now();
  Ticket ticket;
  if (!line.next(ticket)) throw InternalError("the line ended");
  waited_s += seconds_since(begin);
  if (ticket.kind == TicketKind::bad) std::rethrow_exception(line.slab(ticket).error());
  std::this_thread::sleep_for(step);
  const std::uint64_t pictures = line.slab(ticket).rows().size();
  line.release(ticket);
  return pictures;
}

void measure(const Config& config, std::chrono::duration<double> step, double length_s) {
  const DataParts data = open_training_data(config, "cpu");
  const Scheduler scheduler(data.workers);
  Loader line(loader_parts("bench", data, config));
  line.start();
  double waited_s = 0;
  consume(line, step, waited_s);
  waited_s = 0;
  std::uint64_t images = 0;
  const auto begin = Clock::now();
  while (seconds_since(begin) < length_s) images += consume(line, step, waited_s);
  const double wall_s = seconds_since(begin);
  line.stop();
  std::printf("{\"images_per_s\": %.1f, \"waited\": %.5f}\n", static_cast<double>(images) / wall_s, waited_s / wall_s);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: bench_consumer STEP_MS SECONDS CONFIG [KEY=VALUE…]\n", stderr);
    return static_cast<int>(ExitCode::usage);
  }
  try {
    StartOptions options;
    options.config = argv[3];
    for (int i = 4; i < argc; ++i) options.overrides.push_back(parse_set(argv[i]));
    measure(load_for_use(options), std::chrono::duration<double, std::milli>(std::atof(argv[1])), std::atof(argv[2]));
  } catch (const UserError& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
