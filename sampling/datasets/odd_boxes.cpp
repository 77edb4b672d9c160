#include "sampling/datasets/odd_boxes.h"

#include <utility>
#include <vector>

#include "sampling/core/text.h"
#include "sampling/core/warning.h"

namespace flowtrain {

OddBoxes& OddBoxes::operator+=(const OddBoxes& other) {
  flat += other.flat;
  inverted += other.inverted;
  outside += other.outside;
  beyond += other.beyond;
  return *this;
}

bool OddBoxes::keeps(const Box& box, double width, double height) {
  const auto count = [](std::uint32_t& kind) { return ++kind, false; };
  if (box.x0 > box.x1 || box.y0 > box.y1) return count(inverted);
  if (box.x0 == box.x1 || box.y0 == box.y1) return count(flat);
  const auto is_outside = [](double begin, double end, double size) { return end <= 0 || (size > 0 && begin >= size); };
  if (is_outside(box.x0, box.x1, width) || is_outside(box.y0, box.y1, height)) return count(outside);
  const auto is_beyond = [](double begin, double end, double size) {
    return begin < -1 || (size > 0 && end > size + 1);
  };
  if (is_beyond(box.x0, box.x1, width) || is_beyond(box.y0, box.y1, height)) ++beyond;
  return true;
}

void OddBoxes::report(const std::string& file, const std::string& first) const {
  std::vector<std::string> kinds;
  for (const auto& [count, what] :
       {std::pair{flat, " without area"}, {inverted, " of negative size"}, {outside, " outside of their images"}})
    if (count > 0) kinds.push_back(concat(count, what));
  std::string text = join(kinds);
  if (left_out() > 0) text += left_out() == 1 ? " is left out" : " are left out";
  if (beyond > 0)
    text += concat(text.empty() ? "" : ", ", beyond, beyond == 1 ? " reaches" : " reach", " beyond an edge");
  if (!text.empty()) warn(concat(file, ": among the boxes ", text, "; the first belongs to ", first));
}

}  // namespace flowtrain
