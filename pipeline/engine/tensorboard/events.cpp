#include "pipeline/engine/tensorboard/events.h"

#include "stages/system/wall_time.h"

#include "pipeline/base/telemetry/picture_records.h"

namespace flowtrain {

namespace {

// Field numbers of the messages.
namespace event_field {
enum : unsigned { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7 };
}
namespace session_field {
enum : unsigned { status = 1 };
}
namespace value_field {
enum : unsigned { tag = 1, simple_value = 2, image = 4, histogram = 5, tensor = 8, metadata = 9 };
}
namespace image_field {
enum : unsigned { height = 1, width = 2, colorspace = 3, encoded = 4 };
}
namespace histogram_field {
enum : unsigned { least = 1, most = 2, count = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket = 7 };
}
namespace tensor_field {
enum : unsigned { dtype = 1, shape = 2, string_val = 8 };
}
constexpr unsigned first_field = 1;  // number in messages that have one field
constexpr std::uint64_t session_start = 1, dtype_string = 7, rgb = 3;

ProtoWriter event_at(std::uint64_t iteration) {
  ProtoWriter event;
  event.real(event_field::wall_time, wall_time_s());
  event.number(event_field::step, iteration);
  return event;
}

ProtoWriter tagged(std::string_view tag) {
  ProtoWriter value;
  value.text(value_field::tag, tag);
  return value;
}

}  // namespace

std::string version_event() {
  ProtoWriter event = event_at(0);
  event.text(event_field::file_version, "brain.Event:2");
  return event.bytes();
}

std::string start_event(std::uint64_t first) {
  ProtoWriter session, event = event_at(first);
  session.number(session_field::status, session_start);
  event.text(event_field::session_log, session.bytes());
  return event.bytes();
}

void SummaryEvent::scalar(std::string_view tag, double value) {
  ProtoWriter one = tagged(tag);
  one.short_real(value_field::simple_value, static_cast<float>(value));
  summary_.text(first_field, one.bytes());
}

void SummaryEvent::histogram(const Histogram& histogram) {
  double count = 0;
  std::vector<double> limits;
  const double width = (histogram.most - histogram.least) / static_cast<double>(histogram.counts.size());
  for (const double in_step : histogram.counts) {
    count += in_step;
    limits.push_back(histogram.least + width * static_cast<double>(limits.size() + 1));
  }
  ProtoWriter encoded;
  encoded.real(histogram_field::least, histogram.least);
  encoded.real(histogram_field::most, histogram.most);
  encoded.real(histogram_field::count, count);
  encoded.real(histogram_field::sum, histogram.sum);
  encoded.real(histogram_field::sum_squares, histogram.sum_of_squares);
  encoded.reals(histogram_field::bucket_limit, limits);
  encoded.reals(histogram_field::bucket, histogram.counts);
  ProtoWriter one = tagged(histogram.name);
  one.text(value_field::histogram, encoded.bytes());
  summary_.text(first_field, one.bytes());
}

void SummaryEvent::picture(std::string_view tag, std::string_view png) {
  const auto size = png_size(png);
  if (!size) return;
  ProtoWriter image, one = tagged(tag);
  image.number(image_field::height, size->height);
  image.number(image_field::width, size->width);
  image.number(image_field::colorspace, rgb);
  image.text(image_field::encoded, png);
  one.text(value_field::image, image.bytes());
  summary_.text(first_field, one.bytes());
}

// A tensor of shape (1) of strings, for the text plugin.
void SummaryEvent::text(std::string_view tag, std::string_view markdown) {
  ProtoWriter size, shape, tensor, plugin, metadata, one = tagged(tag);
  size.number(first_field, 1);
  shape.text(2, size.bytes());
  tensor.number(tensor_field::dtype, dtype_string);
  tensor.text(tensor_field::shape, shape.bytes());
  tensor.text(tensor_field::string_val, markdown);
  plugin.text(first_field, "text");
  metadata.text(first_field, plugin.bytes());
  one.text(value_field::tensor, tensor.bytes());
  one.text(value_field::metadata, metadata.bytes());
  summary_.text(first_field, one.bytes());
}

std::string SummaryEvent::bytes() const {
  ProtoWriter event = event_at(iteration_);
  event.text(event_field::summary, summary_.bytes());
  return event.bytes();
}

EventContent content_of(std::string_view event) {
  EventContent content;
  const auto look_at_value = [&](const ProtoField& field) {
    if (field.number != value_field::tag) return;
    content.pictures = content.pictures || field.bytes.starts_with("pictures/");
    content.validates = content.validates || field.bytes.starts_with("val/");
  };
  each_field(event, [&](const ProtoField& field) {
    if (field.number == event_field::step) content.iteration = field.value;
    if (field.number == event_field::session_log)
      each_field(field.bytes, [&](const ProtoField& session) {
        if (session.number == session_field::status) content.starts = session.value == session_start;
      });
    if (field.number == event_field::summary)
      each_field(field.bytes, [&](const ProtoField& value) { each_field(value.bytes, look_at_value); });
  });
  return content;
}

}  // namespace flowtrain
