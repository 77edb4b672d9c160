#include "pipeline/inference/predict/input_dataset.h"

#include <algorithm>
#include <system_error>

#include "sampling/codecs/encode.h"
#include "sampling/core/error.h"

namespace flowtrain {

namespace {

std::vector<std::byte> blank_png() {
  Image grey;
  grey.reshape(8, 8, 3);
  std::ranges::fill(grey.pixels, std::uint8_t{128});
  return encode_png(grey.view());
}

void read_input(const Input& input, std::vector<std::byte>& into) {
  if (input.archive) return read_exactly(*input.archive, input.offset, input.size_bytes, into);
  if (input.remote) {
    const RemoteFile file(input.name, input.remote);
    return read_exactly(file, 0, file.size_bytes(), into);
  }
  const auto file = Descriptor::file(input.name.c_str());
  read_exactly(file, 0, file.size_bytes(), into);
}

}  // namespace

InputDataset::InputDataset(const std::vector<Input>& inputs, const std::vector<std::string>& classes,
                           const std::optional<PixelForm>& pixels)
    : inputs_(inputs), classes_(classes) {
  if (pixels) {
    const auto side = [](std::uint64_t given) { return static_cast<std::uint32_t>(std::max<std::uint64_t>(given, 1)); };
    blank_.encoding = Encoding::pixels;
    blank_.height = side(pixels->height), blank_.width = side(pixels->width), blank_.channels = side(pixels->channels);
    blank_bytes_.resize(std::size_t{blank_.height} * blank_.width * blank_.channels);
    // Only records that are parts of pictures have no common size.
    if (pixels->height == 0) blank_.region = {0, 0, 1, 1, 0};
  } else {
    blank_.encoding = Encoding::image;
    blank_bytes_ = blank_png();
  }
  blank_.bytes = blank_bytes_;
  blank_.label = 0;
}

Record InputDataset::read(std::uint64_t id, ReadBuffer& buffer) const {
  if (id == 0) return blank_;
  const Input& input = inputs_[id - 1];
  if (!input.problem.empty()) throw SampleError(input.problem);
  try {
    read_input(input, buffer.bytes);
  } catch (const std::system_error& error) {
    throw SampleError(error.code() == std::errc::invalid_seek ? "this is not a regular file" : error.code().message());
  } catch (const std::runtime_error& error) {
    throw SampleError(error.what());
  }
  return {.id = id, .encoding = Encoding::image, .bytes = buffer.bytes, .label = 0};
}

std::string InputDataset::describe(std::uint64_t id) const {
  return id == 0 ? "a blank picture" : inputs_[id - 1].name;
}

}  // namespace flowtrain
