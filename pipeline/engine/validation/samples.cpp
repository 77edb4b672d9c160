#include "pipeline/engine/validation/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "pipeline/engine/validation/packing.h"
#include "sampling/core/random.h"

namespace flowtrain {

namespace {

template <class Number>
Number number_at(std::span<const std::byte> bytes) {
  Number number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

SampleResult sample_of(const Slab& slab, std::size_t row, const RowResult& result) {
  SampleResult sample{.id = slab.rows()[row].id, .label = label_of(slab, row), .result = result};
  take_fields(sample, with_recordings(slab.rows()[row].record, show_row(slab, slab.rows()[row])));
  return sample;
}

void put_image(std::string& bytes, const Image& image) {
  for (const int side : {image.height, image.width, image.channels}) put(bytes, side);
  put_all(bytes, image.pixels);
}

Image take_image(std::string_view& bytes) {
  Image image;
  for (int* side : {&image.height, &image.width, &image.channels}) *side = take<int>(bytes);
  image.pixels = take_all<std::uint8_t>(bytes);
  return image;
}

void put_sample(std::string& bytes, const SampleResult& sample) {
  put(bytes, sample.id), put(bytes, sample.label);
  put(bytes, sample.result.loss), put(bytes, sample.result.prediction), put(bytes, sample.result.score);
  for (auto* image : {&sample.result.made, &sample.result.wanted, &sample.picture}) put_image(bytes, *image);
  put_all(bytes, sample.boxes), put_all(bytes, sample.found);
  put(bytes, std::uint64_t{sample.fields.size()});
  for (auto& [name, shown] : sample.fields) {
    put_text(bytes, name), put_text(bytes, shown.text);
    put_image(bytes, shown.picture), put_all(bytes, shown.sound);
  }
  put(bytes, sample.result.transcript.has_value());
  if (sample.result.transcript) put_transcript(bytes, *sample.result.transcript);
}

SampleResult take_sample(std::string_view& bytes) {
  SampleResult sample;
  sample.id = take<std::uint64_t>(bytes), sample.label = take<std::int64_t>(bytes);
  sample.result.loss = take<double>(bytes), sample.result.prediction = take<std::int64_t>(bytes);
  sample.result.score = take<double>(bytes);
  for (auto* image : {&sample.result.made, &sample.result.wanted, &sample.picture}) *image = take_image(bytes);
  sample.boxes = take_all<Box>(bytes), sample.found = take_all<Detection>(bytes);
  sample.fields.resize(take<std::uint64_t>(bytes));
  for (auto& [name, shown] : sample.fields) {
    name = take_text(bytes), shown.text = take_text(bytes);
    shown.picture = take_image(bytes), shown.sound = take_all<std::byte>(bytes);
  }
  if (take<bool>(bytes)) sample.result.transcript = take_transcript(bytes);
  return sample;
}

}  // namespace

void take_fields(SampleResult& sample, std::vector<ShownField> fields) {
  const auto has_picture = [](const ShownField& field) { return !field.shown.picture.pixels.empty(); };
  auto main = std::ranges::find_if(fields, [&](auto& field) { return field.name == "image" && has_picture(field); });
  if (main == fields.end()) main = std::ranges::find_if(fields, has_picture);
  if (main != fields.end()) sample.picture = std::exchange(main->shown.picture, {});
  const bool tells_label =
      sample.label >= 0 || !sample.result.wanted.pixels.empty() || sample.result.transcript.has_value();
  std::erase_if(fields, [&](auto& field) {
    return (field.name == "label" && tells_label) ||
           (field.shown.text.empty() && !has_picture(field) && field.shown.sound.empty());
  });
  sample.fields = std::move(fields);
}

std::int64_t label_of(const Slab& slab, std::size_t row) {
  const auto& fields = slab.layout().fields();
  const auto label = std::ranges::find(fields, "label", &Field::name);
  if (label == fields.end() || !label->shape.empty()) return -1;
  const auto bytes = slab.bytes_of(slab.rows()[row], static_cast<std::size_t>(label - fields.begin()));
  if (bytes.empty()) return -1;
  switch (label->dtype) {
    case DType::u8: return number_at<std::uint8_t>(bytes);
    case DType::i32: return number_at<std::int32_t>(bytes);
    case DType::i64: return number_at<std::int64_t>(bytes);
    case DType::f32: return -1;
  }
  return -1;
}

std::function<bool(std::uint64_t)> spread_records(std::uint64_t size, std::uint64_t count, std::uint64_t seed) {
  count = std::min(count, size);
  return [=](std::uint64_t record) {
    if (count == 0 || record >= size) return false;
    const std::uint64_t part =
        ((record + 1) * count - 1) / size;  // A part begins at part * size / count, rounded down.
    const std::uint64_t begin = part * size / count, end = (part + 1) * size / count;
    return record == begin + mix64(seed ^ mix64(part)) % (end - begin);
  };
}

// A substitute is left out, because that record has a row of its own.
void SampleCollector::validate(Validator& validator, Slab& slab) {
  const auto rows = std::as_const(slab).rows();
  std::vector<std::size_t> shown;
  if (slab.share() > 0)
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (rows[row].replaced == 0 && choice_.chooses(rows[row].id) && !chosen_.contains(rows[row].id))
        shown.push_back(row);
  RowResults results;
  if (auto* const tells = dynamic_cast<RowValidator*>(&validator))
    results = tells->validate_rows(slab, shown);
  else
    validator.validate(slab);
  if (!results.rows.empty()) kind_ = results.kind;
  for (const std::size_t row : shown)
    chosen_.emplace(rows[row].id, sample_of(slab, row, results.rows.empty() ? RowResult() : results.rows[row]));
  for (std::size_t row = 0; row < results.rows.size(); ++row)
    if (rows[row].replaced == 0) add_worst(slab, row, results.rows[row]);
}

void SampleCollector::add_worst(const Slab& slab, std::size_t row, const RowResult& result) {
  if (std::isnan(result.badness())) return;
  const Rank rank{-result.badness(), slab.rows()[row].id};
  if (worst_.size() == choice_.most && rank >= worst_.rbegin()->first) return;
  const auto is_it = [&](auto& each) { return each.second.id == rank.second; };
  if (std::ranges::any_of(worst_, is_it)) return;  // A validation may go through its set several times.
  worst_.emplace(rank, sample_of(slab, row, result));
  if (worst_.size() > choice_.most) worst_.erase(std::prev(worst_.end()));
}

std::set<std::uint64_t> SampleCollector::chosen_of(const std::set<std::uint64_t>& records) const {
  std::set<std::uint64_t> chosen;
  std::ranges::copy_if(records, std::inserter(chosen, chosen.end()), choice_.chooses);
  return chosen;
}

void SampleCollector::add(const DetectedImage& detected) {
  kind_ = "detect";
  const std::uint64_t id = detected.image_result.record;
  if (!detected.damage.empty() || !choice_.chooses(id)) return;
  SampleResult sample{.id = id, .boxes = detected.image_result.boxes, .found = detected.image_result.found};
  sample.picture = detected.bgr;
  auto& pixels = sample.picture.pixels;
  for (std::size_t i = 0; i < pixels.size(); i += 3) std::swap(pixels[i], pixels[i + 2]);
  chosen_.insert_or_assign(id, std::move(sample));
}

// Keeps only the pictures that are shown, before they travel.
void SampleCollector::agree_on_worst(Group& group) {
  std::string mine;
  for (auto& [rank, sample] : worst_) put(mine, rank.first), put(mine, rank.second);
  std::vector<Rank> all;
  for (auto& theirs : group.gather("the losses of validation samples", mine))
    for (std::string_view left = theirs; !left.empty();) {
      const double loss = take<double>(left);
      all.emplace_back(loss, take<std::uint64_t>(left));
    }
  std::ranges::sort(all);
  if (all.size() > choice_.most) all.resize(choice_.most);
  std::erase_if(worst_, [&](auto& each) { return !std::ranges::binary_search(all, each.first); });
}

std::string SampleCollector::packed() const {
  std::string bytes;
  put_text(bytes, kind_);
  put(bytes, std::uint64_t{chosen_.size()});
  for (auto& [id, sample] : chosen_) put_sample(bytes, sample);
  for (auto& [rank, sample] : worst_) put_sample(bytes, sample);
  return bytes;
}

void SampleCollector::unpack(std::string_view bytes) {
  if (const auto kind = take_text(bytes); kind != "samples") kind_ = kind;
  for (auto left = take<std::uint64_t>(bytes); left > 0; --left) {
    SampleResult sample = take_sample(bytes);
    chosen_.emplace(sample.id, std::move(sample));
  }
  while (!bytes.empty()) {
    SampleResult sample = take_sample(bytes);
    worst_.emplace(Rank{-sample.result.badness(), sample.id}, std::move(sample));
  }
}

ShownSamples SampleCollector::gather(Group& group) {
  if (group.size() > 1) {
    agree_on_worst(group);
    const std::string mine = packed();
    const auto all = group.gather("the samples that a validation shows", group.leads() ? std::string() : mine);
    if (!group.leads()) return {};
    for (auto& theirs : all)
      if (!theirs.empty()) unpack(theirs);
  }
  ShownSamples shown{.kind = kind_, .classes = choice_.dataset.classes()};
  for (auto& [id, sample] : chosen_)
    if (shown.samples.size() < choice_.most) shown.samples.push_back(std::move(sample));
  for (auto& [rank, sample] : worst_)
    if (shown.worst.size() < choice_.most) shown.worst.push_back(std::move(sample));
  return shown;
}

}  // namespace flowtrain
