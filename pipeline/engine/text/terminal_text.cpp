#include "pipeline/engine/text/terminal_text.h"

#include "sampling/core/utf8.h"

namespace flowtrain {

std::string terminal_text(std::string_view text) {
  const std::string all = as_utf8(text);
  std::string shown;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto byte = static_cast<unsigned char>(all[i]);
    // U+0080 to U+009F are the bytes C2 80 to C2 9F.
    const bool is_c1 = byte == 0xc2 && i + 1 < all.size() && static_cast<unsigned char>(all[i + 1]) < 0xa0;
    if (is_c1) ++i;
    shown += is_c1 || byte == 0x7f || (byte < ' ' && byte != '\n' && byte != '\t') ? '?' : all[i];
  }
  return shown;
}

}  // namespace flowtrain
