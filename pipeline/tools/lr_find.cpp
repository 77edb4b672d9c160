#include "pipeline/tools/lr_find.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "pipeline/telemetry/format.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr double past = 0.9;    // of the mean
constexpr double diverged = 4;  // times the least loss
constexpr unsigned curve_rows = 8;

// Of the straight line that is nearest to the losses, over the rates' logarithms, which are evenly spaced.
double slope_of(std::span<const LrFinder::Tried> window) {
  const double middle = static_cast<double>(window.size() - 1) / 2;
  double above = 0, below = 0;
  for (std::size_t i = 0; i < window.size(); ++i) {
    const double at = static_cast<double>(i) - middle;
    above += at * window[i].loss;
    below += at * at;
  }
  return above / below;
}

}  // namespace

double LrFinder::lr(std::uint64_t iteration) const {
  const auto way = static_cast<double>(iteration - 1) / static_cast<double>(range_.iterations - 1);
  return range_.from * std::pow(range_.to / range_.from, way);
}

void LrFinder::on_event(HookEvent event, HookContext& context) {
  const double now = lr(context.iteration);
  if (event == HookEvent::iteration_begin) {
    const double first = context.hyper.front().lr;
    for (auto& hyper : context.hyper) hyper.lr = first > 0 ? now * (hyper.lr / first) : now;
    return;
  }
  if (context.scalars->empty()) return context.stop("the loss is not finite any more");
  const double loss = context.scalars->front().second;
  mean_ = past * mean_ + (1 - past) * loss;
  const double smooth = mean_ / (1 - std::pow(past, static_cast<double>(tried_.size() + 1)));
  least_ = tried_.empty() ? smooth : std::min(least_, smooth);
  tried_.push_back({now, loss, smooth});
  if (smooth > diverged * least_) context.stop("the loss has grown to four times its least");
}

double LrFinder::suggestion() const {
  const auto width = std::max<std::ptrdiff_t>(3, static_cast<std::ptrdiff_t>(range_.iterations / 10));
  double steepest = 0, found = 0;
  for (auto first = tried_.begin(); least() - first >= width - 1; ++first) {
    const std::span window(first, static_cast<std::size_t>(width));
    const double slope = slope_of(window);
    if (slope < steepest) steepest = slope, found = window[window.size() / 2].lr;
  }
  return found;
}

std::vector<LrFinder::Tried>::const_iterator LrFinder::least() const {
  return std::min_element(tried_.begin(), tried_.end(), [](auto& a, auto& b) { return a.smooth < b.smooth; });
}

std::string LrFinder::report() const {
  if (tried_.empty()) return "the first iteration's loss is not finite already\n";
  std::vector<double> curve;
  // What the loss is after it has got worse again would flatten all else.
  for (auto& each : tried_) curve.push_back(std::min(each.smooth, 1.1 * tried_.front().smooth));
  std::string text = concat("loss, smoothed, for learning rates from ", format_rate(tried_.front().lr), " to ",
                            format_rate(tried_.back().lr), "\n");
  text += plot(curve, curve_rows, 1, false);
  const double found = suggestion();
  if (found == 0)
    return text +
           "the loss does not fall: try other rates (--from, --to), or see whether the net learns at all (--overfit)\n";
  text += concat("it falls fastest at ", format_rate(found), ", and is least at ", format_rate(least()->lr), "\n");
  return text + concat("try --set optim.lr=", format_rate(found), "\n");
}

}  // namespace flowtrain
