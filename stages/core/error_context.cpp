#include "stages/core/error_context.h"

#include "sampling/core/error.h"
#include "sampling/core/out_of_memory.h"

namespace flowtrain {

void add_error_context(const std::string& stage, const std::string& what) {
  const std::string where = "stage " + stage + ", " + what + ": ";
  try {
    throw;
  } catch (const UserError& error) {
    throw UserError(error.code(), where + error.what(), error.hint());
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(where + "no memory is left");
  } catch (const std::exception& error) {
    throw InternalError(where + error.what());
  } catch (...) {
    throw InternalError(where + "an exception of unknown type");
  }
}

}  // namespace flowtrain
