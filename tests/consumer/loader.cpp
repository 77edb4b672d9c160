// Prints the first batches of a stream, and goes on where an earlier call stopped:
//   loader STATE BATCHES KEY=VALUE…
// STATE: the file of the position. Each line is a batch: its epoch, the sum of its images' values, and its sample ids.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <span>
#include <vector>

#include "pipeline/engine/loader/data_loader.h"
#include "sampling/core/error.h"

int main(int argc, char** argv) try {
  if (argc < 3) return 2;
  std::vector<flowtrain::Override> keys;
  for (int i = 3; i < argc; ++i) keys.push_back(flowtrain::parse_set(argv[i]));
  flowtrain::DataLoader loader(flowtrain::load_config("", keys), {});

  flowtrain::StreamPosition position;
  if (std::ifstream stored(argv[1]); stored >> position.epoch >> position.samples) loader.seek(position);

  loader.begin_epoch();
  for (int left = std::atoi(argv[2]); left > 0;) {
    const auto batch = loader.next();
    if (!batch) {
      loader.begin_epoch();
      continue;
    }
    const std::size_t values = batch->rows * loader.fields()[0].row_bytes() / sizeof(float);
    const std::span images(reinterpret_cast<const float*>(batch->field(0)), values);  // (rows, channels, height, width)
    std::printf("%d %.9g:", static_cast<int>(batch->epoch), std::accumulate(images.begin(), images.end(), 0.0));
    for (const auto id : batch->ids) std::printf(" %d", static_cast<int>(id));
    std::puts("");
    --left;
  }
  position = loader.position();
  std::ofstream(argv[1]) << position.epoch << ' ' << position.samples << '\n';
} catch (const flowtrain::UserError& error) {
  std::fprintf(stderr, "error: %s\n%s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
