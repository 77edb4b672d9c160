#include "sampling/samplers/picture_cutter.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "sampling/codecs/color.h"
#include "sampling/core/text.h"
#include "sampling/draw_notes.h"
#include "sampling/images/crop.h"
#include "sampling/samplers/keys.h"

namespace flowtrain {
namespace {

std::vector<double> per_channel(const Settings& settings, const std::string& name, int channels, bool imagenet,
                                std::vector<double> imagenet_values) {
  const auto& values = settings.reals(name);
  const auto count = static_cast<std::size_t>(channels);
  if (values.empty()) return imagenet ? imagenet_values : std::vector<double>(count, 0.5);
  if (values.size() != count)
    throw settings.error(name, concat("has ", values.size(), " values, but the images have ", channels, " channel",
                                      channels == 1 ? "" : "s"));
  return values;
}

/// Returns the settings of each size, from small to large.
std::vector<Settings> by_size(const Settings& settings, bool training) {
  const auto& sizes = settings.integers("sizes");
  if (sizes.empty()) {
    if (height_and_width(settings, "val_size").first == 0) return {settings};
    throw settings.error("val_size", "is the size beside sizes, which are not given", ExitCode::usage,
                         concat("set ", settings.table(), ".sizes; size alone is that of validation, too"));
  }
  if (height_and_width(settings, "size").first > 0)
    throw settings.error("sizes", concat("size is given, too (", settings.origin("size").text(), ")"), ExitCode::usage,
                         "keep one of them");
  if (std::ranges::adjacent_find(sizes, std::greater_equal()) != sizes.end())
    throw settings.error("sizes", concat("expected growing numbers, got ", to_toml(settings.value("sizes"))));
  std::vector<Settings> all;
  const auto add = [&](const Value& size, const std::string& key) {
    all.push_back(settings);
    all.back().set("size", size, settings.origin(key));
  };
  if (training)
    for (const std::int64_t size : sizes) add(size, "sizes");
  else if (height_and_width(settings, "val_size").first > 0)
    add(settings.value("val_size"), "val_size");
  else
    add(sizes.back(), "sizes");
  return all;
}

}  // namespace

std::vector<Key> picture_keys() {
  const std::vector<double> none;
  std::vector<Key> keys{
      {"size", Kind::integers, std::int64_t{0},
       "height and width of the output, or [height, width]; 0: as stored, for images of one size", 0, 4096},
      {"sizes", Kind::integers, std::vector<std::int64_t>(),
       "heights, which are the widths, too, in place of size: loader.resizing gives one of them to each training "
       "batch; from small to large",
       1, 4096},
      {"val_size", Kind::integers, std::int64_t{0},
       "size in validation, tests and predictions beside sizes; 0: the largest of them", 0, 4096},
      {"channels", Kind::integer, std::int64_t{0},
       "number of channels: 1 (grey) or 3 (RGB); 0: as stored (image files: 3); transparent pixels become black", 0, 3},
      choice_key(
          "crop", "auto",
          "training crop: random_resized, pad (a random place in the padded image), none (as in validation); auto: "
          "none for images stored at the output size, otherwise random_resized",
          {"auto", "random_resized", "pad", "none"}),
      {"scale", Kind::reals, std::vector<double>{0.08, 1}, "least and most share of the area of random_resized", 1e-6,
       1},
      {"ratio", Kind::reals, std::vector<double>{3. / 4, 4. / 3}, "least and most width / height of random_resized",
       1e-3, 1e3},
      {"padding", Kind::integer, std::int64_t{4}, "number of black pixels on each side, for pad", 0, 4096},
      {"resize", Kind::integers, std::int64_t{0},
       "shorter side before the centre crop in validation, more if that would not cover the output; [height, "
       "width]: both sides, stretched; 0: covers size * 256 / 224 with random_resized, otherwise size",
       0, 16384},
      choice_key("filter", "antialias",
                 "filter for smaller images: a pixel averages all that it covers (antialias) or the nearest two by two "
                 "(bilinear)",
                 {"antialias", "bilinear"}),
      {"flip", Kind::real, 0.5, "probability of mirroring left to right in training", 0, 1},
      warnings_key(),
      exif_key("ignore"),
      {"fast_decode", Kind::boolean, true,
       "decode a JPEG that shrinks to half or less at a lower resolution; false: in full, as torchvision does"},
      {"mean", Kind::reals, none,
       "mean per channel, of values in 0 .. 1; empty: ImageNet's for colour image files, else 0.5", 0, 1},
      {"stddev", Kind::reals, none, "deviation per channel; empty: ImageNet's for colour files, else 0.5", 1e-6, 1e6},
  };
  for (auto& key : augment_keys()) keys.push_back(std::move(key));
  return keys;
}

PictureCutter::PictureCutter(const Settings& settings, const StoredForm& form, bool training)
    : training_(training),
      scale_(least_and_most(settings, "scale")),
      ratio_(least_and_most(settings, "ratio")),
      padding_(static_cast<int>(settings.integer("padding"))),
      flip_(settings.real("flip")),
      filter_(settings.text("filter") == "bilinear" ? Filter::bilinear : Filter::antialias),
      decoding_(decoding_of(settings)),
      augmentation_(augmentation(settings)) {
  const auto [height, width] = output_size(settings, form);
  height_ = height, width_ = width;
  channels_ = output_channels(settings, form);
  crop_ = training_crop(settings, form);
  read_resize(settings);
  const bool imagenet = form.encoding == Encoding::image && channels_ == 3;
  mean_ = per_channel(settings, "mean", channels_, imagenet, {0.485, 0.456, 0.406});
  stddev_ = per_channel(settings, "stddev", channels_, imagenet, {0.229, 0.224, 0.225});
}

Field PictureCutter::field(const std::string& name) const {
  return {name, DType::u8, {height_, width_, channels_}, mean_, stddev_};
}

void PictureCutter::operator()(const Record& record, Stream& random, std::byte* to) const {
  thread_local std::vector<std::uint8_t> cut;  // the cut image while it still has its stored channels
  StoredPicture picture(record, decoding_);
  const int stored = picture.channels(), pixels = height_ * width_;
  check_channels(stored);
  const Window region = window_of(picture.height(), picture.width(), record.region);
  auto* image = reinterpret_cast<std::uint8_t*>(to);
  if (stored != channels_) cut.resize(static_cast<std::size_t>(pixels * stored));
  cut_out(picture, region, random, stored == channels_ ? image : cut.data());
  if (stored != channels_) convert_channels(cut.data(), stored, pixels, channels_, image);
  if (training_) augment(image, random);
}

PictureCutters::PictureCutters(const Settings& settings, const StoredForm& form, bool training)
    : sized_(training && !settings.integers("sizes").empty()) {
  for (auto& each : by_size(settings, training)) cutters_.emplace_back(each, form, training);
}

Field PictureCutters::field(const std::string& name) const {
  Field field = cutters_.back().field(name);
  if (sized_) field.free_axes = 2, field.sized = true;
  return field;
}

void PictureCutters::operator()(const Record& record, Stream& random, std::byte* to,
                                std::span<const std::int64_t> extents) const {
  if (!sized_ || extents.empty()) return cutters_.back()(record, random, to);
  const auto cutter = std::ranges::find(cutters_, extents.front(), &PictureCutter::height);
  if (cutter == cutters_.end()) throw InternalError(concat("no cutter has the size ", extents.front()));
  (*cutter)(record, random, to);
}

std::pair<int, int> PictureCutter::output_size(const Settings& settings, const StoredForm& form) {
  if (const auto given = height_and_width(settings, "size"); given.first > 0) return given;
  if (form.height == 0)
    throw settings.error("size", "must be given: the images of this data set have no common size", ExitCode::usage,
                         concat("set ", settings.table(), ".size, for instance to 224"));
  return {form.height, form.width};
}

void PictureCutter::read_resize(const Settings& settings) {
  const auto [height, width] = height_and_width(settings, "resize");
  stretches_ = height > 0 && !std::holds_alternative<std::int64_t>(settings.value("resize"));
  shorter_ = stretches_ ? 0 : height;
  const int larger = crop_ == Crop::random_resized && height == 0 ? 256 : 224;
  resized_height_ = stretches_ ? height : height_ * larger / 224;
  resized_width_ = stretches_ ? width : width_ * larger / 224;
  const auto size = [&] { return height_ == width_ ? concat(height_) : concat("[", height_, ", ", width_, "]"); };
  if (shorter_ > 0 && shorter_ < std::min(height_, width_))
    throw settings.error("resize", concat("is ", shorter_, ", which is less than size = ", size()));
  if (resized_height_ < height_ || resized_width_ < width_)
    throw settings.error("resize", concat("is [", height, ", ", width, "], which is less than size = ", size()));
}

int PictureCutter::output_channels(const Settings& settings, const StoredForm& form) {
  const auto channels = settings.integer("channels");
  if (channels == 2) throw settings.error("channels", "must be 0, 1 or 3");
  if (channels > 0) return static_cast<int>(channels);
  if (form.channels != 1 && form.channels != 3)
    throw UserError(ExitCode::usage, concat(named_part(settings),
                                            " needs images of 1 or 3 channels, but this data set has ", form.channels));
  return form.channels;
}

PictureCutter::Crop PictureCutter::training_crop(const Settings& settings, const StoredForm& form) const {
  const auto& name = settings.text("crop");
  if (name == "pad") return Crop::pad;
  if (name == "none") return Crop::none;
  if (name == "random_resized") return Crop::random_resized;
  return form.height == height_ && form.width == width_ ? Crop::none : Crop::random_resized;
}

void PictureCutter::cut_out(StoredPicture& picture, const Window& region, Stream& random, std::uint8_t* out) const {
  if (training_ && crop_ == Crop::pad) {
    const auto whole = picture.decode(region.rect(), region, region.height, region.width);
    cut_padded(whole.picture, random, out);
    if (mirrors(random)) flip_horizontally(out, height_, width_, picture.channels());
    return;
  }
  Rect part = centre_of(region);
  Window within = region;
  if (training_ && crop_ == Crop::random_resized) {
    part = draw_resized_crop(region.height, region.width, scale_, ratio_, random);
    part.x += region.x;
    part.y += region.y;
    DrawNotes::add("crop", [&] { return std::vector{part.x, part.y, part.width, part.height}; });
    within = {static_cast<int>(part.x), static_cast<int>(part.y), static_cast<int>(part.height),
              static_cast<int>(part.width)};  // the filter must see nothing outside
  }
  const bool mirrored = mirrors(random);
  const auto inside = picture.decode(part, within, height_, width_);
  resize(inside.picture, inside.from, filter_, mirrored, height_, width_, out);
}

void PictureCutter::augment(std::uint8_t* image, Stream& random) const {
  thread_local std::vector<AugmentStep> steps;
  augmentation_.draw(height_, width_, random, steps);
  for (const auto& step : steps) {
    DrawNotes::add("augment", [&] { return describe(step); });
    apply(step, {image, height_, width_, channels_});
  }
}

bool PictureCutter::mirrors(Stream& random) const {
  if (!training_ || flip_ <= 0) return false;
  const bool mirrored = random.uniform() < flip_;
  DrawNotes::add("mirrored", [&] { return std::vector{mirrored ? 1.0 : 0.0}; });
  return mirrored;
}

void PictureCutter::cut_padded(const Picture& picture, Stream& random, std::uint8_t* out) const {
  const int free_y = picture.height + 2 * padding_ - height_, free_x = picture.width + 2 * padding_ - width_;
  if (free_y < 0 || free_x < 0)
    throw SampleError(concat("an image of ", picture.width, "x", picture.height, " padded by ", padding_,
                             " is smaller than ", width_, "x", height_));
  const int y = static_cast<int>(random.below(static_cast<std::uint64_t>(free_y) + 1)) - padding_;
  const int x = static_cast<int>(random.below(static_cast<std::uint64_t>(free_x) + 1)) - padding_;
  DrawNotes::add("crop", [&] { return std::vector<double>{1. * x, 1. * y, 1. * width_, 1. * height_}; });
  copy_window(picture, x, y, height_, width_, out);
}

Rect PictureCutter::centre_of(const Window& region) const {
  double scaled_height = resized_height_, scaled_width = resized_width_;
  if (!stretches_) {  // both must be covered: one side fits, the other follows
    if (region.height <= region.width) scaled_height = std::max<double>(scaled_height, shorter_);
    if (region.width <= region.height) scaled_width = std::max<double>(scaled_width, shorter_);
    if (scaled_height * region.width >= scaled_width * region.height)
      scaled_width = std::floor(region.width * scaled_height / region.height);
    else
      scaled_height = std::floor(region.height * scaled_width / region.width);
  }
  const double step_y = region.height / scaled_height, step_x = region.width / scaled_width;
  const double top = std::nearbyint((scaled_height - height_) / 2), left = std::nearbyint((scaled_width - width_) / 2);
  return {region.x + left * step_x, region.y + top * step_y, width_ * step_x, height_ * step_y};
}

}  // namespace flowtrain
