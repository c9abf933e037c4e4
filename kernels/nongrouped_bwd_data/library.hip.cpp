#include "bitgate/library.hpp"
#include "support.hpp"

namespace bitgate {

template class Registration<ConvProblem>;

const Family family{"nongrouped_bwd_data", nullptr, 0};

} // namespace bitgate
