// File: text.h
//
// broker/text.h, under the name the program's files know it by.
//
// Serves promise 5: errors that can name what was wrong.
#ifndef HOURGLASS_BROKER_TEXT_TEXT_H_
#define HOURGLASS_BROKER_TEXT_TEXT_H_

#include "broker/text.h"  // IWYU pragma: export

#endif  // HOURGLASS_BROKER_TEXT_TEXT_H_
