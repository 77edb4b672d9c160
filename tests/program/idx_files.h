#pragma once
// An idx data set of a test's own.

#include <string>

#include "tests/support/temp_run.h"

namespace flowtrain {

/// `type`: 8 is u8, as pictures and labels are; 13 is float.
inline std::string idx_bytes(char type, const std::vector<unsigned>& shape, const std::string& values) {
  std::string bytes{0, 0, type, static_cast<char>(shape.size())};
  for (unsigned extent : shape)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(extent >> shift);
  return bytes + values;
}

/// Pictures of 8 x 8 whose brightness tells four classes apart, as train and test split in `folder`/idx.
inline void write_idx(const TempFolder& folder, unsigned pictures = 64) {
  std::string pixels, labels;
  for (unsigned i = 0; i < pictures; ++i) {
    labels += static_cast<char>(i % 4);
    for (unsigned pixel = 0; pixel < 64; ++pixel) pixels += static_cast<char>(i % 4 * 60 + (pixel * 7 + i) % 16);
  }
  for (const std::string split : {"train", "t10k"}) {
    folder.write("idx/" + split + "-images-idx3-ubyte", idx_bytes(8, {pictures, 8, 8}, pixels));
    folder.write("idx/" + split + "-labels-idx1-ubyte", idx_bytes(8, {pictures}, labels));
  }
}

inline constexpr const char* idx_config = R"(name = "tiny"
[run]
max_iter = 20
threads = 1
[data]
dataset = "idx"
path = "idx"
[loader]
batch = 16
[net]
name = "mlp"
hidden = [16]
[optim]
lr = 0.05
)";

}  // namespace flowtrain
