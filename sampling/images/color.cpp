#include "sampling/images/color.h"

#include <cstddef>
#include <cstring>

namespace flowtrain {

void convert_channels(const std::uint8_t* in, int in_channels, int count, int out_channels, std::uint8_t* out) {
  if (in_channels == out_channels)
    std::memcpy(out, in, static_cast<std::size_t>(count) * static_cast<std::size_t>(in_channels));
  else if (out_channels == 3)
    for (int i = 0; i < count; ++i) out[3 * i] = out[3 * i + 1] = out[3 * i + 2] = in[i];
  else
    for (int i = 0; i < count; ++i) out[i] = luma(in + 3 * i);
}

}  // namespace flowtrain
