// The `voc` data set: PASCAL VOC's JPEGImages/, Annotations/ and lists of splits ImageSets/Main/<split>.txt, in a
// folder or an archive. A sample is an image with its boxes, or the part of an image inside one box.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "sampling/class_names.h"
#include "sampling/core/parse.h"
#include "sampling/core/utf8.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/odd_boxes.h"
#include "sampling/datasets/split_names.h"
#include "sampling/datasets/voc_annotation.h"
#include "sampling/datasets/whole_file.h"
#include "sampling/fingerprint.h"
#include "sampling/io/encoding.h"
#include "sampling/io/files.h"
#include "sampling/io/text_lines.h"
#include "sampling/named_dataset.h"

namespace flowtrain {
namespace {

/// An image of the split, while the data set is being read.
struct Annotated {
  std::size_t file;
  VocAnnotation annotation;
};

/// The lists ImageSets/Main/<split>.txt, by split: several for a split if there are several data sets.
using Lists = std::map<std::string, std::vector<std::size_t>>;

Lists find_lists(const Files& files) {
  Lists lists;
  constexpr std::string_view folder = "ImageSets/Main/", ending = ".txt";
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto name = files.name(i);
    const auto at = name.rfind(folder);
    if (at == name.npos || (at > 0 && name[at - 1] != '/') || !name.ends_with(ending)) continue;
    const auto split = name.substr(at + folder.size());
    lists[std::string(split.substr(0, split.size() - ending.size()))].push_back(i);
  }
  return lists;
}

std::vector<std::string> names_of(const Lists& lists) {
  std::vector<std::string> names;
  for (const auto& [name, file] : lists) names.push_back(name);
  return names;
}

/// Returns the split's list. The part of its name before ImageSets/ is the folder of everything else.
std::size_t choose(const Files& files, const Lists& lists, const Settings& settings, bool training) {
  const auto& split = settings.text("split");
  const std::string usual = training ? "train" : "val";
  auto names = names_of(lists);
  if (const auto found = choose_list(names, split, usual, training)) {
    const auto& places = lists.at(*found);
    if (places.size() == 1) return places.front();
    throw settings.error("path", "several data sets: " + files.describe(places[0]) + ", " + files.describe(places[1]),
                         ExitCode::data, "name the folder that holds ImageSets/ of one of them");
  }
  for (auto& name : names) name = as_utf8(name);
  throw settings.error(
      "split", concat("no ImageSets/Main/", split.empty() ? usual : split, ".txt in ", settings.text("path")),
      ExitCode::data,
      names.empty()
          ? "a PASCAL VOC data set has JPEGImages/, Annotations/ and ImageSets/Main/"
          : concat("splits there: ", listed_classes(names), "; data.val_share = 0.1 splits the training data"));
}

constexpr std::string_view blanks = " \t\r";

/// Returns the text before " -1", " 0" or " 1" at a line's end; nothing if there is no such label.
std::optional<std::string_view> before_label(std::string_view line) {
  const auto space = line.find_last_of(blanks);
  if (space == line.npos) return {};
  const auto label = line.substr(space + 1);
  if (label != "-1" && label != "0" && label != "1") return {};
  return trimmed(line.substr(0, space), blanks);
}

/// Returns the paths of a line "JPEGImages/one.jpg Annotations/one.xml"; nothing for other lines.
std::optional<std::pair<std::string_view, std::string_view>> two_paths(std::string_view line) {
  if (ending_of(line) != "xml") return {};
  for (auto blank = line.find_first_of(blanks); blank != line.npos; blank = line.find_first_of(blanks, blank + 1))
    if (is_picture(line.substr(0, blank))) return std::pair(line.substr(0, blank), trimmed(line.substr(blank), blanks));
  return {};
}

/// Returns the lines of a list without blanks around them. In lists of one class each name is followed by a label,
/// which is removed; names may have spaces.
std::vector<std::string> read_list(const Files& files, std::size_t list) {
  const auto bytes = read_needed(files, list, 1 << 28);
  const auto text = without_mark({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  auto lines = text_lines(text, files.describe(list));
  for (auto& line : lines) line = trimmed(line, blanks);
  std::erase(lines, std::string_view());
  const bool labelled = std::ranges::all_of(lines, [](auto line) { return before_label(line).has_value(); });
  std::vector<std::string> names;
  for (const auto line : lines) names.emplace_back(labelled ? *before_label(line) : line);
  return names;
}

/// Finds the file of an image with any extension.
std::optional<std::size_t> find_picture(const Files& files, const std::string& name) {
  const auto [first, last] = files.range(name + '.');
  for (auto file = first; file < last; ++file) {
    const auto ending = files.name(file).substr(name.size() + 1);
    if (ending.find_first_of("./") == ending.npos && is_picture(files.name(file))) return file;
  }
  return {};
}

/// Finds the files of a list's lines.
class ListedFiles {
 public:
  ListedFiles(const Files& files, std::size_t list) : files_(files), list_(list) {
    const auto place = files.name(list);
    root_ = place.substr(0, place.rfind("ImageSets/"));
  }

  /// Finds the image and its annotation. Throws UserError(data) if one is missing.
  std::pair<std::size_t, std::size_t> find(const std::string& line) const {
    if (const auto paths = two_paths(line)) return {by_path(line, paths->first), by_path(line, paths->second)};
    auto picture = find_picture(files_, root_ + "JPEGImages/" + line);
    auto name = line;
    if (!picture && is_picture(line) && (picture = files_.find(root_ + "JPEGImages/" + line)))
      name.resize(name.rfind('.'));
    const auto annotation = files_.find(root_ + "Annotations/" + name + ".xml");
    if (!picture) fail(line, "JPEGImages/" + name + ".jpg");
    if (!annotation) fail(line, "Annotations/" + name + ".xml");
    return {*picture, *annotation};
  }

 private:
  /// Finds a path below the folder that holds ImageSets/, or below the whole.
  std::size_t by_path(const std::string& line, std::string_view path) const {
    const auto normal = std::filesystem::path(path).lexically_normal().string();
    for (const auto& place : {root_ + normal, normal})
      if (const auto file = files_.find(place)) return *file;
    fail(line, normal);
  }

  [[noreturn]] void fail(const std::string& line, const std::string& lacking) const {
    throw UserError(
        ExitCode::data,
        concat(files_.describe(list_), ": '", as_utf8(line), "' is listed, but there is no ", as_utf8(lacking)),
        "unpack the data set again, or remove the line from the list; every line must be a name, or every "
        "line a name and -1, 0 or 1, or the paths of an image and its annotation");
  }

  const Files& files_;
  std::size_t list_;
  std::string root_;
};

std::vector<Annotated> read_split(const Files& files, std::size_t list) {
  const ListedFiles listed(files, list);
  const auto lines = read_list(files, list);
  if (lines.empty()) throw EmptyDataset(files.describe(list) + ": the list has no images");
  std::vector<Annotated> pictures;
  OddBoxes odd;
  std::string first_odd;
  for (const auto& line : lines) {
    const auto [picture, annotation] = listed.find(line);
    const auto xml = read_needed(files, annotation, max_voc_annotation_bytes);
    pictures.push_back({picture, parse_voc(xml, files.describe(annotation))});
    odd += pictures.back().annotation.odd;
    if (first_odd.empty() && (odd.left_out() > 0 || odd.beyond > 0)) first_odd = files.name(annotation);
  }
  odd.report(files.describe(list), first_odd);
  return pictures;
}

/// Returns the classes in label order.
std::vector<std::string> class_names(const Settings& settings, const std::vector<Annotated>& pictures) {
  const auto& given = given_class_names(settings);
  if (!given.empty()) return given;
  std::set<std::string> found;
  for (const auto& picture : pictures)
    for (const auto& object : picture.annotation.objects) found.insert(object.name);
  return {found.begin(), found.end()};
}

/// Widens a box on each side by `margin` of its longer side, within the image as far as its size is known.
Box widen(const Box& box, double margin, const VocAnnotation& picture) {
  const auto by = static_cast<float>(margin) * std::max(box.x1 - box.x0, box.y1 - box.y0);
  const auto within = [](float size, float end) { return size > 0 ? std::min(size, end) : end; };
  return {std::max(0.0f, box.x0 - by),
          std::max(0.0f, box.y0 - by),
          within(picture.width, box.x1 + by),
          within(picture.height, box.y1 + by),
          box.label,
          box.ignore};
}

class Voc : public NamedDataset {
 public:
  Voc(const Settings& settings, bool training)
      : files_(open_files(settings)), crops_(settings.text("mode") == "crops"), target_(settings.text("target")) {
    const auto lists = find_lists(files_);
    const auto list = choose(files_, lists, settings, training);
    place_ = files_.describe(list);
    if (training) notes_ = notes_on_test(lists);
    const auto pictures = read_split(files_, list);
    classes_ = class_names(settings, pictures);
    if (!target_.empty()) choose_target(settings);
    for (const auto& picture : pictures) add(picture, settings);
    if (size() == 0)
      throw EmptyDataset(files_.describe(list) + ": the images of this split have no boxes to crop",
                         "check data.class_names and data.difficult");
  }

  std::uint64_t size() const override { return crops_ ? boxes_.size() : pictures_.size(); }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto at = crops_ ? picture_of_box(id) : id;
    files_.read(pictures_[at].file, buffer.bytes);
    Record record{.id = id,
                  .encoding = Encoding::image,
                  .bytes = buffer.bytes,
                  .height = pictures_[at].height,
                  .width = pictures_[at].width,
                  .label = label(id)};
    if (crops_)
      record.region = boxes_[id];
    else
      record.boxes = boxes_of(at);
    return record;
  }

  std::int64_t label(std::uint64_t id) const override {
    if (crops_) return boxes_[id].label;
    return target_.empty() ? -1 : !boxes_of(id).empty();
  }

  std::vector<std::string> classes() const override { return classes_; }
  bool has_boxes() const override { return !crops_ && !boxes_.empty(); }

  /// Returns the image's path, with the box's number (crops), or how many boxes were left out (images).
  std::string describe(std::uint64_t id) const override {
    const auto& picture = pictures_[crops_ ? picture_of_box(id) : id];
    const auto path = files_.describe(picture.file);
    if (crops_) return path + " box " + std::to_string(id - picture.first_box);
    if (picture.left_out == 0) return path;
    return path + " (boxes left out: " + std::to_string(picture.left_out) + ")";
  }

  /// Returns the image's name, so that all its crops stay together.
  std::string name(std::uint64_t id) const override {
    const auto path = files_.name(pictures_[crops_ ? picture_of_box(id) : id].file);
    return std::string(path.substr(path.rfind('/') + 1));
  }

  std::string place() const override { return place_; }
  std::vector<std::string> notes() const override { return notes_; }

  std::uint64_t fingerprint() const override {
    std::uint64_t all = fingerprint_of(std::span(boxes_));
    for (auto& picture : pictures_)
      all = fingerprint_of(picture.first_box, fingerprint_of(files_.name(picture.file), all));
    return all;
  }

  std::uint64_t version() const override {
    std::uint64_t all = fingerprint();
    for (auto& picture : pictures_) all = files_.version(picture.file, all);
    return all;
  }

 private:
  struct Picture {
    std::size_t file;
    std::uint32_t first_box;
    std::uint32_t left_out;       ///< number of boxes left out
    std::uint32_t height, width;  ///< size as annotated; 0: not given
  };

  /// Returns notes on the lists of test data, with their numbers of images.
  std::vector<std::string> notes_on_test(const Lists& lists) const {
    return notes_on_lists(names_of(lists),
                          [&](const std::string& name) { return read_list(files_, lists.at(name).front()).size(); });
  }

  void choose_target(const Settings& settings) {
    if (crops_) throw settings.error("target", "a target needs mode = \"images\"");
    if (std::ranges::find(classes_, target_) == classes_.end()) {
      const auto near = nearest(target_, classes_);
      throw settings.error("target", "no class is called '" + target_ + "'", ExitCode::usage,
                           near.empty() ? "" : "did you mean '" + near + "'?");
    }
    classes_ = {"absent", target_};
  }

  void add(const Annotated& picture, const Settings& settings) {
    const auto& annotation = picture.annotation;
    const auto whole = [](float side) { return static_cast<std::uint32_t>(std::lround(side)); };
    pictures_.push_back({picture.file, static_cast<std::uint32_t>(boxes_.size()), annotation.odd.left_out(),
                         whole(annotation.height), whole(annotation.width)});
    for (const auto& object : annotation.objects) {
      const auto place = std::ranges::find(classes_, object.name) - classes_.begin();
      const bool known = static_cast<std::size_t>(place) < classes_.size() && (target_.empty() || place == 1);
      if (!known || (object.difficult && !settings.boolean("difficult"))) continue;
      auto box = object.box;
      box.label = static_cast<std::int32_t>(place);
      box.ignore = object.difficult;
      boxes_.push_back(crops_ ? widen(box, settings.real("margin"), annotation) : box);
    }
  }

  std::span<const Box> boxes_of(std::size_t picture) const {
    const std::size_t begin = pictures_[picture].first_box;
    const std::size_t end = picture + 1 < pictures_.size() ? pictures_[picture + 1].first_box : boxes_.size();
    return std::span(boxes_).subspan(begin, end - begin);
  }

  std::size_t picture_of_box(std::size_t box) const {
    const auto after = std::ranges::upper_bound(pictures_, box, {}, &Picture::first_box);
    return static_cast<std::size_t>(after - pictures_.begin()) - 1;
  }

  Files files_;
  bool crops_;
  std::string target_, place_;
  std::vector<std::string> notes_, classes_;
  std::vector<Picture> pictures_;
  std::vector<Box> boxes_;  ///< boxes, image by image; crops have their margin
};

}  // namespace

DatasetEntry voc_entry() {
  return {
      .name = "voc",
      .help =
          "PASCAL VOC images and boxes, in a folder or a .tar. split: a list of ImageSets/Main; default: train, "
          "or val (else test) to validate, by their usual names",
      .keys = {{.name = "mode",
                .kind = Kind::text,
                .fallback = std::string("images"),
                .help = "kind of samples: images with their boxes, or the crops of single boxes (labelled by class)",
                .choices = {"images", "crops"}},
               {"target", Kind::text, std::string(),
                "keep boxes of this class only, in mode images; an image's label is 1 if it has one, else 0"},
               {"difficult", Kind::boolean, true,
                "use boxes that are marked difficult; evaluation does not count them"},
               {"class_names", Kind::texts, std::vector<std::string>(),
                "classes in label order; boxes of others are left out; default: those of the split's boxes, sorted; "
                "set it if the training split may lack a class"},
               {"margin", Kind::real, 0.1, "share of a box's longer side to add on each side of crops", 0}},
      .make = [](const Settings& settings, const DatasetInput& input) -> std::unique_ptr<Dataset> {
        return std::make_unique<Voc>(settings, input.training);
      }};
}

}  // namespace flowtrain
