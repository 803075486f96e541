// Large buffers that are filled from end to end: fewer faults with pages of 2 MiB, or none when they are filled.
#pragma once

#include <cstddef>

namespace assay {

/// Asks for huge pages within memory that nothing was written into yet. A hint: where there are none, nothing changes.
void PreferHugePages(void* memory, size_t bytes);

/// Has the system find the pages of memory that nothing was written into yet, so that whoever fills it need not wait
/// for them, which on a virtual machine may take longer than to fill them. What is in the memory then is not said.
void TakePages(void* memory, size_t bytes);

/// `values` with room for `count`, what is new of it as above.
template <typename Values>
void ReserveInHugePages(Values& values, size_t count) {
  if (values.capacity() < count) {
    values.reserve(count);
    PreferHugePages(values.data() + values.size(), (values.capacity() - values.size()) * sizeof(*values.data()));
  }
}

}  // namespace assay
