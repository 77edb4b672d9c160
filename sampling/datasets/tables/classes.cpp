#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "sampling/class_names.h"
#include "sampling/core/error.h"
#include "sampling/core/parse.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "sampling/datasets/tables/columns.h"
#include "sampling/io/json_texts.h"

namespace flowtrain {
namespace {

using Texts = std::vector<std::string>;

/// Finds the classes of the cells of two columns.
class ClassFinder {
 public:
  ClassFinder(const Table& table, ClassColumns columns, const Texts& class_names)
      : table_(table), columns_(columns), given_(class_names) {}

  ManifestClasses find() {
    ManifestClasses found;
    number_names();
    found.lists.form = {"", Encoding::array, DType::i64, {-1}};
    bool labelled = false;
    if (columns_.label >= 0)
      for (std::size_t row = 0; row < table_.rows() && !labelled; ++row)
        labelled = !items_of(columns_.label, row).empty();
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      if (labelled) found.labels.push_back(label_of(row));
      if (columns_.labels < 0) continue;
      for (const auto& item : items_of(columns_.labels, row))
        found.lists.integers.push_back(class_of(columns_.labels, row, item));
      found.lists.ends.push_back(found.lists.integers.size());
    }
    if (columns_.labels >= 0) found.lists.form.name = column(columns_.labels).name;
    found.names = !given_.empty() ? given_
                  : are_numbers_  ? numbered_classes(static_cast<std::size_t>(largest_ + 1))
                                  : names_;
    return found;
  }

 private:
  const TableColumn& column(std::ptrdiff_t index) const { return table_.columns[static_cast<std::size_t>(index)]; }

  [[noreturn]] void fail(std::ptrdiff_t index, std::size_t row, const std::string& what,
                         const std::string& hint = {}) const {
    throw UserError(ExitCode::data, concat(table_.place(row, column(index).name), ": ", what), hint);
  }

  /// Returns the classes that a cell names; the list is reused.
  const Texts& items_of(std::ptrdiff_t index, std::size_t row) {
    items_.clear();
    const auto cell = trimmed(column(index).cells[row]);
    if (cell.empty()) return items_;
    if (index == columns_.label) {
      items_.emplace_back(cell);
    } else if (cell.starts_with('[')) {
      if (append_json_texts(cell, items_) != JsonTexts::added)
        fail(index, row, concat(cell, " is no list of classes"), "write [\"cat\", \"dog\"], or cat;dog");
    } else {
      for (auto rest = cell; !rest.empty();) {
        const auto end = std::min(rest.find_first_of(";|"), rest.size());
        if (const auto item = trimmed(rest.substr(0, end)); !item.empty()) items_.emplace_back(item);
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return items_;
  }

  /// Decides whether the classes are names or numbers, and numbers the names.
  void number_names() {
    std::set<std::string, std::less<>> names;
    bool numbers = true, reals = true;
    std::optional<std::pair<std::ptrdiff_t, std::size_t>> fraction;  // the first number that is no integer
    for (const auto index : {columns_.label, columns_.labels}) {
      if (index < 0) continue;
      reals = reals && (column(index).kinds & (TableColumn::text | TableColumn::texts)) == 0;
      for (std::size_t row = 0; row < table_.rows(); ++row)
        for (const auto& item : items_of(index, row)) {
          if (names.contains(item)) continue;
          names.insert(item);
          const bool whole = parse_number<std::int64_t>(item).has_value();
          numbers = numbers && whole;
          reals = reals && (whole || parse_number<double>(item));
          if (!whole && !fraction) fraction = {index, row};
          if (!reals && static_cast<std::int64_t>(names.size()) > max_classes && given_.empty())
            fail(index, row, concat("there are more than ", max_classes, " classes"),
                 "a column of texts that are no classes is not that of labels: set data.label = \"\"");
        }
    }
    numbers = numbers && reals;
    if (reals && fraction && given_.empty())
      fail(fraction->first, fraction->second,
           concat(column(fraction->first).cells[fraction->second], " is no class, which is a text or an integer"),
           "set data.label = \"\": the column is then one of numbers");
    for (const auto& name : given_) classes_.try_emplace(name, static_cast<std::int32_t>(classes_.size()));
    are_numbers_ = numbers && std::ranges::none_of(given_, is_number);
    if (are_numbers_ || !given_.empty()) return;
    names_.assign(names.begin(), names.end());
    for (const auto& name : names_) classes_.try_emplace(name, static_cast<std::int32_t>(classes_.size()));
  }

  std::int32_t label_of(std::size_t row) {
    const auto& items = items_of(columns_.label, row);
    if (items.empty())
      fail(columns_.label, row, "it is empty, but other rows have a class",
           "name the class of each row; set data.label = \"\" for data without classes");
    return class_of(columns_.label, row, items.front());
  }

  std::int32_t class_of(std::ptrdiff_t index, std::size_t row, const std::string& item) {
    if (are_numbers_) {
      const auto number = *parse_number<std::int64_t>(item);
      const auto end = given_.empty() ? max_classes : static_cast<std::int64_t>(given_.size());
      if (number < 0 || number >= end)
        fail(index, row, concat("class ", number, " is not within 0 to ", end - 1),
             given_.empty() ? "" : "data.class_names names " + std::to_string(given_.size()) + " classes");
      largest_ = std::max(largest_, number);
      return static_cast<std::int32_t>(number);
    }
    const auto found = classes_.find(item);
    if (found != classes_.end()) return found->second;
    const auto near = nearest(item, given_);
    const auto number = std::ranges::find_if(given_, is_number);
    fail(index, row, "'" + item + "' is no class of data.class_names",
         is_number(item) && number != given_.end()
             ? concat("as data.class_names has the number ", *number, ", labels are names of it, not indices: add ",
                      item, ", or give names that are no numbers")
         : near.empty() ? "add it to data.class_names"
                        : "did you mean '" + near + "'?");
  }

  const Table& table_;
  const ClassColumns columns_;
  const Texts& given_;
  Texts names_, items_;
  std::map<std::string, std::int32_t, std::less<>> classes_;
  bool are_numbers_ = false;
  std::int64_t largest_ = -1;
};

}  // namespace

ManifestClasses find_classes(const Table& table, ClassColumns columns, const std::vector<std::string>& class_names) {
  return ClassFinder(table, columns, class_names).find();
}

}  // namespace flowtrain
