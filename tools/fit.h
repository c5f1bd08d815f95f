/* fit.h - lines of stdout that fit the window */
#ifndef BLOOMERY_FIT_H
#define BLOOMERY_FIT_H

/*
 * From here on each line of stdout that is wider than the window is broken at spaces. Its
 * continuation begins at column `indent`, or behind the spaces that the line begins with. Does
 * nothing without a window (wrap.h), and after --json.
 */
void fit_output(unsigned indent);
void end_fitting(void);		/* before end_output() */

#endif
