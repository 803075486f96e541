// A child's end of the lifeline that its controller holds.
#pragma once

namespace assay::job {

/// From here on this process ends as soon as the controller that started it does, whatever ended that: the kernel
/// kills it (also while it is stopped), and so does a thread that finds standard input closed. Does nothing when no
/// controller of ours says that it holds the lifeline. Its thread has the caller's signal mask.
void EndWithController();

}  // namespace assay::job
