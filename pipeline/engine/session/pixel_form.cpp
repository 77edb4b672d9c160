#include "pipeline/engine/session/pixel_form.h"

#include "pipeline/base/config/source_groups.h"
#include "sampling/core/error.h"

namespace flowtrain {

std::optional<PixelForm> pixel_form(const Dataset& dataset) try {
  const StoredForm form = stored_form(dataset);
  if (form.encoding != Encoding::pixels && form.encoding != Encoding::shapes) return std::nullopt;
  return PixelForm{static_cast<std::uint64_t>(form.height), static_cast<std::uint64_t>(form.width),
                   static_cast<std::uint64_t>(form.channels)};
} catch (const UserError&) {
  return std::nullopt;  // The first records cannot be read. Training throws this error, if it needs them.
}

std::optional<PixelForm> learnt_pixels(const Config& config, const Dataset& training) {
  return pixel_form(has_groups(config) ? *training.sources()[group_of_validation(config)].dataset : training);
}

StoredForm record_form(const std::optional<PixelForm>& pixels) {
  if (!pixels) return {.encoding = Encoding::image, .channels = 3};
  return {.encoding = Encoding::pixels,
          .bytes = pixels->height * pixels->width * pixels->channels,
          .height = static_cast<int>(pixels->height),
          .width = static_cast<int>(pixels->width),
          .channels = static_cast<int>(pixels->channels)};
}

}  // namespace flowtrain
