#include "sampling/core/reads_until.h"

#include <utility>

namespace flowtrain {
namespace {

thread_local std::stop_token current;

}  // namespace

ReadsUntil::ReadsUntil(std::stop_token stop) : outer_(std::exchange(current, std::move(stop))) {}

ReadsUntil::~ReadsUntil() { current = std::move(outer_); }

std::stop_token ReadsUntil::token() { return current; }

}  // namespace flowtrain
