#include "pipeline/inference/predict/input_dataset.h"

#include <algorithm>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

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
                           const std::optional<PixelForm>& pixels, const LearntParts& parts)
    : inputs_(inputs), classes_(classes), parts_(parts) {
  const auto& forms = parts_.forms;
  for (auto& form : forms) blank_parts_.push_back(blank_part(form, parts_.channels));
  for (std::size_t i = 0; i < forms.size(); ++i)
    blank_views_.push_back(
        {forms[i].name, forms[i].encoding, blank_parts_[i].bytes, forms[i].dtype, blank_parts_[i].shape});
  if (pixels) {
    const auto side = [](std::uint64_t given) { return static_cast<std::uint32_t>(std::max<std::uint64_t>(given, 1)); };
    blank_.encoding = Encoding::pixels;
    blank_.height = side(pixels->height), blank_.width = side(pixels->width), blank_.channels = side(pixels->channels);
    blank_bytes_.resize(std::size_t{blank_.height} * blank_.width * blank_.channels);
    // Only records that are parts of pictures have no common size.
    if (pixels->height == 0) blank_.region = {0, 0, 1, 1, 0};
  } else {
    blank_.encoding = Encoding::image;
    blank_bytes_ = blank_part({image_part, Encoding::image}).bytes;
  }
  blank_.bytes = blank_bytes_;
  blank_.parts = blank_views_;
  blank_.label = 0;
}

Record InputDataset::read(std::uint64_t id, ReadBuffer& buffer) const {
  if (id == 0) return blank_;
  const Input& input = inputs_[id - 1];
  if (!input.problem.empty()) throw SampleError(input.problem);
  if (input.records) {
    Record record = input.records->read(input.record, buffer);
    record.id = id - 1, record.label = 0;
    return with_targets(record, buffer);
  }
  const PartForm* const recording = parts_.recording();
  if (!recording && parts_.forms.size() > parts_.targets.size())
    throw SampleError(concat("the net learnt from ", parts_.names(), ": give a table (.jsonl, .csv)"));
  try {
    read_input(input, buffer.bytes);
  } catch (const std::system_error& error) {
    throw SampleError(error.code().message());
  } catch (const std::runtime_error& error) {
    throw SampleError(error.what());
  }
  buffer.parts.clear();
  Record record{.id = id - 1, .encoding = Encoding::image, .bytes = buffer.bytes, .label = 0};
  if (recording) {
    buffer.parts.push_back({recording->name, recording->encoding, buffer.bytes});
    record.encoding = Encoding::bytes, record.bytes = {}, record.parts = buffer.parts;
  }
  return with_targets(record, buffer);
}

// Adds the parts that only targets are made from, which inputs lack.
Record InputDataset::with_targets(Record record, ReadBuffer& buffer) const {
  for (auto& blank : blank_views_)
    if (!record.part(blank.name)) {
      buffer.parts.push_back(blank);
      record.parts = buffer.parts;
    }
  return record;
}

std::string InputDataset::describe(std::uint64_t id) const { return id == 0 ? "a blank input" : inputs_[id - 1].name; }

}  // namespace flowtrain
