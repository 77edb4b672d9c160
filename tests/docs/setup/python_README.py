import flowtrain as ft
import numpy
