/* measure_plot.h - a measured rate beside the rates that it should be, as SVG */
#ifndef BLOOMERY_MEASURE_PLOT_H
#define BLOOMERY_MEASURE_PLOT_H

#include "command.h"

struct measured {
	uint64_t asked, found;
	/* its standard error; of none found: the most that it is, 19 times of 20 */
	double rate, error;
};

/*
 * Into a new file. NaN: a rate that is not known. Return: an exit code, with a message.
 */
int plot_measured(const char *path, const struct blm_info *info, const struct measured *measured,
		  double formula, double from_bits);

#endif
