#include "pipeline/inference/evaluation/compare.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/json_file.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/inference/evaluation/detection_errors.h"
#include "pipeline/inference/evaluation/part_files.h"
#include "pipeline/inference/evaluation/sample_pictures.h"
#include "pipeline/inference/evaluation/test_sets.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/cpus.h"
#include "stages/detection/draw.h"
#include "stages/evaluation/coco_eval.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The files of a part.
struct PairPart {
  std::string kind, data;
  std::vector<json> samples;
};

json sample_in(const std::string& line) {
  json sample = parse_json<json>(line);
  if (!sample.is_object()) throw json::other_error::create(501, "a line is no JSON object", nullptr);
  return sample;
}

PairPart read_files(const fs::path& folder) try {
  PairPart part;
  const json summary = json_of_file(folder / "summary.json", most_summary_bytes);
  part.kind = summary.at("kind");
  part.data = summary.at("inputs").at("data");
  std::ifstream lines(folder / "samples.jsonl");
  for (std::string line; std::getline(lines, line);) part.samples.push_back(sample_in(line));
  return part;
} catch (const json::exception& error) {
  throw UserError(ExitCode::snapshot, concat(folder.string(), ": these are not the files of a test: ", error.what()),
                  "remove the folder, and test again");
}

double number_of(const json& sample, const char* key) {
  return sample.contains(key) && sample[key].is_number() ? sample[key].get<double>() : std::nan("");
}

bool has_no_error(const json& sample, bool detects) {
  if (detects) return sample.at("false_negatives") == 0 && sample.at("false_positives") == 0;
  return sample.contains("prediction") && sample.at("prediction") == sample.at("label");
}

/// The samples of two parts, one by one.
class Pairs {
 public:
  Pairs(const TestPart& a, const TestPart& b) : a_(read_files(a.folder)), b_(read_files(b.folder)) {
    const auto refuse = [&](const std::string& why) {
      return UserError(ExitCode::data,
                       concat(a.folder.string(), " and ", b.folder.string(), " cannot be compared: ", why),
                       "test both on one set; --set data.path=PATH applies to both");
    };
    if (a_.data != b_.data || a_.samples.size() != b_.samples.size())
      throw refuse(concat("their samples differ (", a_.samples.size(), " and ", b_.samples.size(), ")"));
    if (a_.kind != b_.kind) throw refuse(concat("one measured ", a_.kind, " of samples, the other ", b_.kind));
    for (std::size_t i = 0; i < a_.samples.size(); ++i) {
      const json &one = a_.samples[i], &other = b_.samples[i];
      if (one.contains("substitute") || other.contains("substitute")) continue;
      if (one.value("label", json()) != other.value("label", json()))
        throw refuse(concat(one.at("name"), " is ", one.value("label", json()), " to one and ",
                            other.value("label", json()), " to the other"));
      if (a_.kind != "classify" || one.contains("label")) places_.push_back(i);
    }
    if (places_.empty()) throw refuse("no sample has a label");
  }

  const std::string& kind() const { return a_.kind; }
  bool detects() const { return a_.kind == "detect"; }
  std::size_t size() const { return places_.size(); }
  const json& a(std::size_t i) const { return a_.samples[places_[i]]; }
  const json& b(std::size_t i) const { return b_.samples[places_[i]]; }

 private:
  PairPart a_, b_;
  std::vector<std::size_t> places_;
};

// The objects of all pictures, to be combined in any number.
class Objects {
 public:
  explicit Objects(const Pairs& pairs) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      a_.push_back(read(pairs.a(i)));
      b_.push_back(read(pairs.b(i)));
    }
  }

  // Returns COCO's AP over pictures, each as often as it was drawn.
  double average_precision(std::span<const std::uint32_t> drawn, bool of_a) const {
    GroundTruth truth;
    std::vector<FoundObject> found;
    for (auto& [name, id] : categories_) truth.categories.push_back({id, name});
    for (std::size_t i = 0; i < drawn.size(); ++i)
      for (std::uint32_t copy = 0; copy < drawn[i]; ++copy)
        add((of_a ? a_ : b_)[i], static_cast<std::int64_t>(truth.images.size()), truth, found);
    return coco_evaluate(truth, found, usable_cores()).all.ap;
  }

 private:
  // The objects of one picture.
  struct OfPicture {
    std::vector<TrueObject> truth;
    std::vector<FoundObject> found;
  };

  OfPicture read(const json& sample) {
    OfPicture objects;
    for (auto& box : sample.at("truth")) {
      const auto& at = box.at("bbox");
      objects.truth.push_back({0, category(box), at[0], at[1], at[2], at[3], box.at("area"), box.at("ignore")});
    }
    for (auto& box : sample.at("found")) {
      const auto& at = box.at("bbox");
      objects.found.push_back({0, category(box), at[0], at[1], at[2], at[3], box.at("score")});
    }
    return objects;
  }

  std::int64_t category(const json& box) {
    const auto next = static_cast<std::int64_t>(categories_.size());
    return categories_.emplace(box.at("label").get<std::string>(), next).first->second;
  }

  static void add(const OfPicture& objects, std::int64_t image, GroundTruth& truth, std::vector<FoundObject>& found) {
    truth.images.push_back(image);
    for (TrueObject object : objects.truth) {
      object.image_id = image;
      truth.objects.push_back(object);
    }
    for (FoundObject object : objects.found) {
      object.image_id = image;
      found.push_back(object);
    }
  }

  std::map<std::string, std::int64_t> categories_;
  std::vector<OfPicture> a_, b_;
};

void compare_accuracies(const Pairs& pairs, Comparison& comparison) {
  comparison.metric = "accuracy";
  double right_a = 0, right_b = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    right_a += has_no_error(pairs.a(i), false);
    right_b += has_no_error(pairs.b(i), false);
  }
  comparison.a = right_a / static_cast<double>(pairs.size());
  comparison.b = right_b / static_cast<double>(pairs.size());
  comparison.p = mcnemar(comparison.only_a, comparison.only_b);
}

void compare_by_bootstrap(std::size_t samples, const CompareOptions& options, Comparison& comparison,
                          const std::function<double(std::span<const std::uint32_t>, bool of_a)>& value) {
  const std::vector<std::uint32_t> once(samples, 1);
  comparison.a = value(once, true);
  comparison.b = value(once, false);
  comparison.bootstrap =
      paired_bootstrap(samples, options.resamples, options.seed,
                       [&](std::span<const std::uint32_t> drawn) { return value(drawn, false) - value(drawn, true); });
  comparison.p = comparison.bootstrap->p;
}

void compare_losses(const Pairs& pairs, const CompareOptions& options, Comparison& comparison) {
  comparison.metric = "loss";
  comparison.has_right_samples = false;
  std::vector<double> a, b;  // one value per sample that has one; a picture without labels has none
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double of_a = number_of(pairs.a(i), "loss"), of_b = number_of(pairs.b(i), "loss");
    if (std::isnan(of_a) || std::isnan(of_b)) continue;
    a.push_back(of_a);
    b.push_back(of_b);
  }
  if (a.empty())
    throw UserError(ExitCode::usage, concat("nets of the kind '", pairs.kind(), "' have no loss of single samples"),
                    "compare their metrics in summary.json");
  comparison.samples = a.size();
  compare_by_bootstrap(a.size(), options, comparison, [&](std::span<const std::uint32_t> drawn, bool of_a) {
    double sum = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) sum += drawn[i] * (of_a ? a : b)[i];
    return sum / static_cast<double>(drawn.size());
  });
}

void compare_texts(const Pairs& pairs, const CompareOptions& options, Comparison& comparison) {
  comparison.metric = "wer";
  comparison.has_right_samples = false;
  struct Counts {
    double edits, words;
  };
  std::vector<Counts> a, b;  // looked up once, not in each resample
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    a.push_back({number_of(pairs.a(i), "edits"), number_of(pairs.a(i), "words")});
    b.push_back({number_of(pairs.b(i), "edits"), number_of(pairs.b(i), "words")});
  }
  compare_by_bootstrap(pairs.size(), options, comparison, [&](std::span<const std::uint32_t> drawn, bool of_a) {
    double edits = 0, words = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const Counts& counts = (of_a ? a : b)[i];
      edits += drawn[i] * counts.edits;
      words += drawn[i] * counts.words;
    }
    return edits / std::max(words, 1.0);
  });
}

JsonObject only(const json& sample, std::initializer_list<const char*> keys) {
  JsonObject fields;
  for (const char* key : keys)
    if (sample.contains(key)) fields[key] = sample[key];
  return fields;
}

std::string difference_line(const json& a, const json& b, bool a_is_right, bool detects) {
  JsonObject line{{"id", a.at("id")}, {"name", a.at("name")}, {"right", a_is_right ? "a" : "b"}};
  if (a.contains("label")) line["label"] = a.at("label");
  for (auto [name, sample] : {std::pair{"a", &a}, {"b", &b}})
    line[name] = detects ? only(*sample, {"false_negatives", "false_positives"})
                         : only(*sample, {"prediction", "score", "loss"});
  return json_line(std::move(line)) + "\n";
}

void write_picture(AtomicFolder& folder, const std::string& name, const Image& picture) {
  const auto bytes = encode_png(picture.view());
  folder.write_file(name + ".png", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// Writes a picture with its true and found boxes, which draw_boxes() reads. Classes only decide the colours.
void write_boxes(AtomicFolder& folder, const std::string& name, const Image& picture, const json& sample) {
  Image drawn;
  in_colour(picture.view(), drawn);
  if (drawn.pixels.empty()) drawn = picture;
  std::map<std::string, int> classes;
  std::vector<Box> truth;
  std::vector<Detection> found;
  const auto corner = [](const json& box, std::size_t at, std::size_t side) {
    return static_cast<float>(box.at("bbox")[at].get<double>() + (side > 0 ? box.at("bbox")[side].get<double>() : 0));
  };
  for (auto& box : sample.at("truth"))
    truth.push_back({corner(box, 0, 0), corner(box, 1, 0), corner(box, 0, 2), corner(box, 1, 3), 0, box.at("ignore")});
  for (auto& box : sample.at("found")) {
    const int category =
        classes.emplace(box.at("label").get<std::string>(), static_cast<int>(classes.size())).first->second;
    found.push_back(
        {corner(box, 0, 0), corner(box, 1, 0), corner(box, 0, 2), corner(box, 1, 3), box.at("score"), category});
  }
  draw_boxes(drawn.pixels.data(), drawn.height, drawn.width, truth, found, static_cast<float>(least_found_score));
  write_picture(folder, name, drawn);
}

// Counts the samples that only one net gets right, and writes their files.
void add_differences(const Pairs& pairs, const Dataset& dataset, const CompareOptions& options, AtomicFolder& folder,
                     Comparison& comparison) {
  std::string lines;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const json &a = pairs.a(i), &b = pairs.b(i);
    const bool a_is_right = has_no_error(a, pairs.detects());
    if (a_is_right == has_no_error(b, pairs.detects())) continue;
    lines += difference_line(a, b, a_is_right, pairs.detects());
    std::uint64_t& count = a_is_right ? comparison.only_a : comparison.only_b;
    const std::string name =
        concat("only-", a_is_right ? "a" : "b", printed("-%02llu", static_cast<unsigned long long>(count)));
    if (count++ >= options.pictures) continue;
    const Image picture = stored_picture(dataset, options.decoding, a.at("id"));
    if (picture.pixels.empty()) continue;
    if (!pairs.detects()) {
      write_picture(folder, name, picture);
      continue;
    }
    write_boxes(folder, name + "-a", picture, a);
    write_boxes(folder, name + "-b", picture, b);
  }
  folder.write_file("differences.jsonl", lines);
}

JsonObject named(const TestPart& part) {
  return {{"run", fs::canonical(part.snapshot).parent_path().parent_path().filename().string()},
          {"snapshot", fs::canonical(part.snapshot).filename().string()}};
}

std::string to_json(const Comparison& comparison, const TestPart& a, const TestPart& b) {
  JsonObject fields{{"a", named(a)},
                    {"b", named(b)},
                    {"set", shown_set(a.set)},
                    {"setting", a.setting},
                    {"samples", comparison.samples},
                    {"metric", comparison.metric},
                    {"value_a", comparison.a},
                    {"value_b", comparison.b},
                    {"difference", comparison.b - comparison.a}};
  if (comparison.has_right_samples) fields["only_a"] = comparison.only_a, fields["only_b"] = comparison.only_b;
  fields["test"] = comparison.bootstrap ? "paired bootstrap" : "mcnemar";
  fields["p"] = comparison.p;
  if (comparison.bootstrap) fields["interval95"] = {comparison.bootstrap->low, comparison.bootstrap->high};
  return json_text(ordered_json(std::move(fields)), 1) + "\n";
}

}  // namespace

std::string Comparison::text() const {
  const std::string rights = has_right_samples
                                 ? concat(": ", only_a, " samples are right only for A, ", only_b, " only for B")
                                 : std::string();
  const std::string interval =
      bootstrap ? concat(", B - A in ", printed("%.4f … %.4f", bootstrap->low, bootstrap->high)) : std::string();
  return concat(metric, " ", format_loss(a), " and ", format_loss(b), rights, interval, ": p = ", printed("%.3g", p),
                bootstrap ? " (paired bootstrap)" : " (McNemar)");
}

Comparison compare_parts(const TestPart& a, const TestPart& b, const Dataset& dataset, const CompareOptions& options) {
  const Pairs pairs(a, b);
  const auto of_b = named(b);
  Comparison comparison{.samples = pairs.size()};
  comparison.folder =
      a.folder.parent_path() / concat(a.folder.filename().string(), "-vs-", of_b.at("run").get<std::string>(), "-",
                                      of_b.at("snapshot").get<std::string>());
  AtomicFolder folder(comparison.folder);
  if (pairs.detects() || pairs.kind() == "classify") add_differences(pairs, dataset, options, folder, comparison);
  if (pairs.kind() == "classify") {
    compare_accuracies(pairs, comparison);
  } else if (pairs.kind() == "transcribe") {
    compare_texts(pairs, options, comparison);
  } else if (pairs.detects()) {
    comparison.metric = "ap";
    const Objects objects(pairs);
    compare_by_bootstrap(pairs.size(), options, comparison, [&](std::span<const std::uint32_t> drawn, bool of_a) {
      return objects.average_precision(drawn, of_a);
    });
  } else {
    compare_losses(pairs, options, comparison);
  }
  const Interrupt::Deferral whole(options.interrupt);
  folder.write_file("comparison.json", to_json(comparison, a, b));
  folder.commit();
  return comparison;
}

}  // namespace flowtrain
